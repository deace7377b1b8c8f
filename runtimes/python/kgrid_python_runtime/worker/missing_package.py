"""What to say where an import finds nothing."""

from __future__ import annotations

import os
import sys

# Distributions whose name is not that of what is imported.
_DISTRIBUTIONS = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "win32api": "pywin32",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}


def advice(error: BaseException, folders: list[str], listed: str) -> str:
    """What to add to an error's text, or nothing.

    `folders`: where the knowledge object's own modules lie; `listed`: where its packages are listed.
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if not isinstance(name, str):
        return ""
    top = name.partition(".")[0]
    # A part of a package that is there, a module of the knowledge object itself, or one that this Python lacks.
    if top in sys.modules or top in _standard_modules() or any(_has(folder, top) for folder in folders):
        return ""
    return f": the package {_DISTRIBUTIONS.get(top, top)} is not installed; add it to {listed}"


def _standard_modules() -> frozenset[str]:
    return getattr(sys, "stdlib_module_names", frozenset())


def _has(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name)) or os.path.exists(os.path.join(folder, name + ".py"))
