"""What code of packages and lists of requirements try against the installer and against other knowledge objects."""

from __future__ import annotations

import codecs
import http.server
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from kgrid_runtime.installer import tree
from kgrid_runtime.installer.hosts import Hosts
from tests.conftest import StartRuntime
from tests.harness.packages import left_in, make_backend, package_files, self_building, try_package
from tests.harness.patience import in_round
from tests.harness.runtime import Runtime
from tests.harness.wheels import make_wheel

MAIN = "import helper\ndef main(value):\n    return helper.who\n"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    make_backend(folder)
    make_wheel(folder, "lib", "1.0", {"lib.py": "version = '1.0'\n"})
    return folder


@pytest.fixture(scope="module")
def settings(wheels: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "KGRID_PYTHON_ALLOW_SOURCE_BUILDS": "hostile/sources"}


class Listener:
    """A server on this machine, to which nothing that a knowledge object names may lead."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                body = b"the answer of an internal address"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def listener() -> Generator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


# Runs in the folder `source` of the build, which earlier was that of all steps.
LINKS = """
import os
for above in ('..', '../..', '../../..'):
    for place in ('packages', 'fetch/target', 'given', 'made'):
        try:
            os.makedirs(f'{above}/{place}', exist_ok=True)
            for name in ('metadata.json', 'kgrid-install.json'):
                os.symlink(mark + name, f'{above}/{place}/{name}')
        except OSError:
            pass
"""


@pytest.mark.long_round
def test_a_build_that_leaves_links_where_the_installer_writes_has_nothing_written_elsewhere(
    runtime: Runtime, tmp_path: Path
) -> None:
    victim = tmp_path / "kgrid-install.json"
    victim.write_text("kept")
    files = self_building("bmi", f"mark = {f'{tmp_path}/'!r}\n{LINKS}")
    runtime.publish("hostile/links/v1.0", {**files, "metadata.json": '{"anything": "at all"}'})
    answer = try_package(runtime, "hostile/links/v1.0")
    assert runtime.call(f"/{answer.json['uri']}", 5).result == 5
    assert victim.read_text() == "kept"
    assert not (tmp_path / "metadata.json").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fifo", "os.mkfifo('../outcome.json')"),
        *in_round(
            [],
            [
                ("link", "os.symlink('/etc/hostname', '../outcome.json')"),
                ("folder", "os.mkdir('../outcome.json')"),
                ("huge", "os.truncate(os.open('../outcome.json', os.O_CREAT | os.O_WRONLY), 1 << 30)"),
                (
                    "wheel",
                    "os.symlink('/', '../wheel')\n"
                    "open('../outcome.json', 'w').write('{\"wheel\": \"x-1-py3-none-any.whl\"}')",
                ),
            ],
        ),
    ],
)
def test_an_outcome_that_is_no_file_ends_the_installation_and_no_other(runtime: Runtime, name: str, code: str) -> None:
    code = f"import os, shutil\nshutil.rmtree('../wheel', ignore_errors=True)\n{code}\nos._exit(0)"
    runtime.publish(f"hostile/{name}/v1.0", self_building("bmi", code))
    assert try_package(runtime, f"hostile/{name}/v1.0").description.startswith("Building the package failed: ")
    assert not [file for file in left_in(runtime.cache) if file.parent.name == "installing"]


@pytest.mark.long_round
def test_a_wheel_that_is_a_link_is_not_read(runtime: Runtime, wheels: Path) -> None:
    made = wheels / "lib-1.0-py3-none-any.whl"
    code = (
        "import os\nname = 'lib-1.0-py3-none-any.whl'\n"
        f"os.symlink({str(made)!r}, '../wheel/' + name)\n"
        "open('../outcome.json', 'w').write('{\"wheel\": \"' + name + '\"}')\nos._exit(0)"
    )
    runtime.publish("hostile/linked/v1.0", self_building("lib", code))
    assert (
        "left 'lib-1.0-py3-none-any.whl', which cannot be read"
        in try_package(runtime, "hostile/linked/v1.0", "lib").description
    )


DEEP = """
import os
for _ in range(3000):
    os.mkdir('deeper')
    os.chdir('deeper')
open('large', 'wb').write(bytes(1000))
"""


@pytest.mark.long_round
def test_folders_deeper_than_any_path_are_refused_and_removed(runtime: Runtime) -> None:
    runtime.publish("hostile/deep/v1.0", self_building("bmi", DEEP))
    said = try_package(runtime, "hostile/deep/v1.0").description
    assert said == "Its installation has folders that are nested too deeply"
    assert not [file for file in left_in(runtime.cache) if file.parent.name == "installing"]


def test_files_are_counted_and_not_only_bytes(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}").touch()
    tree.check_folder(tmp_path, tree.Count(most_files=3))
    with pytest.raises(tree.TreeRefused, match="wrote more than the limit of 2 files"):
        tree.check_folder(tmp_path, tree.Count(most_files=2))


def secret(text: str) -> str:
    return f"machine pypi.internal login bob password {text}"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("utf16", codecs.BOM_UTF16_LE + "-r ${HOME}/.netrc\n".encode("utf-16-le"), "begins with a byte order mark"),
        ("utf8", codecs.BOM_UTF8 + b"lib\n", "begins with a byte order mark"),
        ("latin", b"lib # \xe4\n", "is no UTF-8"),
        ("coding", b"# coding: utf-7\n-r +ACQAew-HOME}/.netrc\n", "names another encoding than UTF-8"),
        ("variable", b"--index-url http://127.0.0.1:9/${PIP_INDEX\\\n_URL}/simple\nlib\n", "uses a variable"),
        ("marker", b'lib; python_version > " --index-url=http://127.0.0.1:9/ "\n', "cannot be passed on to pip"),
        ("path", b"lib===/../../../../../../etc\n", "names a file outside"),
        ("trusted", b"--trusted-host 127.0.0.1\nlib\n", "has an option that is not taken here"),
        ("local", b"lib @ file:./lib.whl\n", "names a file outside"),
        ("missing", b"-r more.txt\n", "more.txt is not there"),
    ],
)
def test_lists_that_pip_would_read_otherwise_are_refused(
    runtime: Runtime, name: str, content: bytes, said: str
) -> None:
    (runtime.cache / ".netrc").write_text(secret("N3trc"))
    ko = f"hostile/{name}/v1.0"
    runtime.publish(ko, {"src/main.py": MAIN})
    runtime.activator.files[f"{ko}/requirements.txt"] = content
    answer = runtime.try_activate(ko)
    assert answer.status == 500
    assert said in answer.description
    assert "N3trc" not in answer.text


@pytest.mark.parametrize(
    "line",
    [
        "--extra-index-url http://127.0.0.1:{port}/simple\nlib",
        "./brings-1.0-py3-none-any.whl",
        *in_round(
            [],
            [
                "x @ http://127.0.0.1:{port}/x-1.0-py3-none-any.whl",
                "http://localhost:{port}/x-1.0-py3-none-any.whl",
                "x @ http://0x7f.1:{port}/x-1.0-py3-none-any.whl",
                "--find-links http://127.0.0.1:{port}/\nlib",
                "--find-links ./\nbrings",
                "--find-links ./links\nx",
            ],
        ),
    ],
)
def test_nothing_is_fetched_from_hosts_that_a_knowledge_object_names(
    runtime: Runtime, listener: Listener, tmp_path: Path, line: str
) -> None:
    address = f"http://127.0.0.1:{listener.port}/x-1.0-py3-none-any.whl"
    make_wheel(tmp_path, "brings", "1.0", {"brings.py": ""}, f"x @ {address}")
    ko = f"hostile/host{listener.port}/v1.0"
    page = f'<a href="{address}">x-1.0-py3-none-any.whl</a>'
    runtime.publish(
        ko, {"src/main.py": MAIN, "requirements.txt": line.format(port=listener.port), "links/index.html": page}
    )
    wheel = tmp_path / "brings-1.0-py3-none-any.whl"
    runtime.activator.files[f"{ko}/{wheel.name}"] = wheel.read_bytes()
    answer = runtime.try_activate(ko)
    assert answer.status == 500
    assert "internal address" not in answer.text
    assert "no host from which packages are fetched" in answer.description or "No matching" in answer.description
    assert listener.asked == []


@pytest.mark.parametrize(
    "line", ["x @ http://127.0.0.1:{port}/x-1.0-py3-none-any.whl", "--index-url http://127.0.0.1:{port}/simple\nx"]
)
@pytest.mark.long_round
def test_the_host_of_an_index_is_one_by_its_port_alone(start: StartRuntime, listener: Listener, line: str) -> None:
    runtime = start(PIP_INDEX_URL="http://127.0.0.1:1/simple", PIP_TRUSTED_HOST="127.0.0.1")
    runtime.publish("hostile/port/v1.0", {"src/main.py": MAIN, "requirements.txt": line.format(port=listener.port)})
    said = runtime.try_activate("hostile/port/v1.0").description
    assert f"127.0.0.1:{listener.port} is no host from which packages are fetched" in said
    assert listener.asked == []


@pytest.mark.long_round
def test_a_package_that_names_a_host_is_refused_too(runtime: Runtime, listener: Listener) -> None:
    needs = f"x @ http://127.0.0.1:{listener.port}/x-1.0-py3-none-any.whl"
    for name, files in {
        "needs": package_files("bmi", "", requires=[needs]),
        "builds": package_files("bmi", "", buildRequires=[needs]),
    }.items():
        runtime.publish(f"hostile/{name}/v1.0", files)
        said = try_package(runtime, f"hostile/{name}/v1.0").description
        assert "127.0.0.1 is no host from which packages are fetched" in said
    assert listener.asked == []


@pytest.mark.parametrize(
    "line",
    [
        "helper-1.0-py3-none-any.whl",
        *in_round([], ["--find-links .\nhelper", "-r more/list.txt"]),
    ],
)
def test_no_knowledge_object_gets_a_package_that_another_brought(runtime: Runtime, tmp_path: Path, line: str) -> None:
    answers = []
    for who in ("one", "other"):
        ko = f"hostile/{who}{len(line)}/v1.0"
        runtime.publish(
            ko, {"src/main.py": MAIN, "requirements.txt": f"{line}\n", "more/list.txt": "./helper-1.0-py3-none-any.whl"}
        )
        make_wheel(tmp_path / who, "helper", "1.0", {"helper.py": f"who = {who!r}\n"})
        wheel = tmp_path / who / "helper-1.0-py3-none-any.whl"
        runtime.activator.files[f"{ko}/{wheel.name}"] = wheel.read_bytes()
        answers.append(runtime.call(runtime.activate(ko), None).result)
    assert answers == ["one", "other"]


@pytest.mark.long_round
def test_what_a_package_or_its_backend_requires_is_never_a_file_of_the_knowledge_object(
    runtime: Runtime, tmp_path: Path
) -> None:
    make_wheel(tmp_path, "helper", "1.0", {"helper.py": ""})
    for name, files in {
        "requires": package_files("bmi", "", requires=["helper-1.0-py3-none-any.whl"]),
        "backend": package_files("bmi", "", buildRequires=["helper-1.0-py3-none-any.whl"]),
    }.items():
        ko = f"hostile/{name}/v1.0"
        runtime.publish(ko, files)
        wheel = tmp_path / "helper-1.0-py3-none-any.whl"
        runtime.activator.files[f"{ko}/{wheel.name}"] = wheel.read_bytes()
        assert "'helper-1.0-py3-none-any.whl' is no requirement" in try_package(runtime, ko).description


@pytest.mark.long_round
def test_code_that_may_build_dependencies_gets_no_cache_and_leaves_only_files(
    start: StartRuntime, tmp_path: Path
) -> None:
    shared = tmp_path / "pip-cache"
    runtime = start(
        PIP_NO_INDEX="1", PIP_CACHE_DIR=str(shared), KGRID_PYTHON_ALLOW_SOURCE_BUILDS="hostile/sources,hostile/again"
    )
    script = (
        "import os\nprint('cache', os.environ.get('PIP_CACHE_DIR'), os.environ['PIP_NO_CACHE_DIR'])\n"
        "target = os.path.join(os.environ['TMPDIR'], '../target')\nos.makedirs(target, exist_ok=True)\n"
        "os.symlink('/etc/hostname', os.path.join(target, 'left.txt'))\n"
    )
    for name, code in {"sources": script, "again": ""}.items():
        files = {f"parts/{path}": text for path, text in self_building("helper", code).items()}
        runtime.publish(
            f"hostile/{name}/v1.0", {"src/main.py": "def main(v): return v", "requirements.txt": "./parts\n", **files}
        )
    said = runtime.try_activate("hostile/sources/v1.0").description
    assert (
        said
        == "Installing dependencies left 'left.txt', which cannot be read as a file: Too many levels of symbolic links"
    )
    assert runtime.call(runtime.activate("hostile/again/v1.0"), 3).result == 3
    assert not shared.exists() or not list(shared.rglob("*"))


def test_a_tree_is_taken_over_as_plain_files_with_their_times(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner/run").write_text("x")
    (source / "inner/run").chmod(0o4777)
    os.utime(source / "inner/run", (1, 2))
    tree.take_folder(source, tmp_path / "target", tree.Count())
    taken = (tmp_path / "target/inner/run").stat()
    assert (taken.st_mode & 0o7777, taken.st_mtime) == (0o755, 2)
    os.link(source / "inner/run", tmp_path / "elsewhere")
    with pytest.raises(tree.TreeRefused, match="no file of its own"):
        tree.check_folder(source, tree.Count())


@pytest.mark.parametrize(
    ("host", "address", "port", "may"),
    [
        ("public.example", "93.184.216.34", 443, True),
        ("anybody.example", "93.184.216.34", 443, True),
        ("anybody.example", "10.0.0.5", 443, False),
        ("anybody.example", "127.0.0.1", 443, False),
        ("anybody.example", "::ffff:169.254.169.254", 443, False),
        ("allowed.example", "10.0.0.5", 443, True),
        ("allowed.example", "10.0.0.5", 9200, False),
        ("allowed.example", "127.0.0.1", 443, False),
        ("allowed.example", "169.254.169.254", 443, False),
        ("10.0.0.6", "10.0.0.6", 80, True),
        ("index.internal", "127.0.0.1", 8080, True),
        ("index.internal", "127.0.0.1", 9200, False),
    ],
)
def test_connections_lead_where_the_operator_lets_them(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str, port: int, may: bool
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://name:word@index.internal:8080/simple")
    hosts = Hosts({"any": True, "hosts": [["allowed.example", 443], ["10.0.0.6", 80]]}, ())
    assert hosts.may_lead(host, address, port) is may
