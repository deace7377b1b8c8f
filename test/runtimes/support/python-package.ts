/** Knowledge objects of the second generation whose code is an installable package of Python. */
import { ko } from '../../acceptance/support/ko.ts';
import type { Content, Ko } from '../../acceptance/support/ko.ts';

/** Builds the wheel of a package whose name stands in name.txt. */
const BACKEND = `
import zipfile
from pathlib import Path

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = Path("name.txt").read_text()
    info = f"{name}-1.0.dist-info"
    files = {str(path): path.read_text() for path in Path(name).glob("**/*.py")}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    with zipfile.ZipFile(Path(wheel_directory, f"{name}-1.0-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"]))
    return f"{name}-1.0-py3-none-any.whl"
`;

/** Files of a package with the module \`api\`, which needs nothing from an index to be built. */
export const packageFiles = (name: string, code: string, folder = ''): Record<string, Content> => ({
  [`${folder}pyproject.toml`]: '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
  [`${folder}backend.py`]: BACKEND,
  [`${folder}name.txt`]: name,
  [`${folder}${name}/__init__.py`]: '',
  [`${folder}${name}/api.py`]: code,
});

/** With the endpoint `/run`, deployed in the folder of the package. */
export function packageKo(naan: string, name: string, files: Readonly<Record<string, Content>>, imports = 'bmi'): Ko {
  const engine = { name: 'org.kgrid.python-activator', package: imports, module: 'api', function: 'run' };
  const made = ko({
    naan,
    name,
    endpoints: [{ path: '/run', consumes: ['application/json'], deployment: { engine } }],
    metadata: {
      'koio:kgrid': '2',
      hasDeploymentSpecification: undefined,
      hasServiceSpecification: undefined,
      hasPayload: undefined,
      'koio:hasService': {
        '@type': 'API',
        hasServiceSpecification: 'service.yaml',
        implementedBy: { '@id': 'python/', '@type': ['https://kgrid.org/specs/activationSpec.html#object', 'Python'] },
      },
    },
  });
  const { 'deployment.yaml': deployment = '', ...rest } = made.files;
  return { ...made, files: { ...rest, 'python/deployment.yaml': deployment, ...files } };
}
