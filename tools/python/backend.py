"""Builds the wheel, from what `make wheel-files` has put together: a build backend for pip (pyproject.toml) and, as a
program, for `make wheel`: backend.py FILES DIST. Needs nothing but Python; the same files give the same bytes."""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATE = (1980, 1, 1, 0, 0, 0)


def project() -> dict[str, Any]:
    import tomllib  # Python 3.11, to build; to install, requires-python counts
    tables: dict[str, dict[str, Any]] = tomllib.loads((HERE / "pyproject.toml").read_text())
    return tables["project"]


def version() -> str:
    header = (ROOT / "include/tilevm/tilevm.h").read_text()
    return str(re.findall(r'TV_VERSION "(.*)"', header)[0])


def licence() -> str:
    """The licence that the owner chose (mk/owner.mk), or nothing."""
    default = re.search(r"^LICENSE_NAME \?=(.*)$", (ROOT / "mk/owner.mk").read_text(), re.MULTILINE)
    return os.environ.get("LICENSE_NAME") or (default[1].strip() if default else "")


def metadata() -> str:
    p = project()
    lines = ["Metadata-Version: 2.1", f"Name: {p['name']}", f"Version: {version()}", f"Summary: {p['description']}",
             f"Requires-Python: {p['requires-python']}", *([f"License: {licence()}"] if licence() else []),
             *(f"Classifier: {c}" for c in p["classifiers"])]
    for extra, needs in p["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {n}; extra == "{extra}"' for n in needs)]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (HERE / p["readme"]).read_text()])


def newest_glibc(files: list[Path]) -> tuple[int, int]:
    """The newest symbol version of the C library that the programs ask for: what manylinux tags count by."""
    text = subprocess.run(["readelf", "-VW", *map(str, files)], check=True, capture_output=True, text=True).stdout
    return max((int(a), int(b)) for a, b in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text))


def check_needs(native: list[Path]) -> None:
    """What the tag promises: beside the C library, programs need what is in the wheel, or zlib, which all systems have."""
    text = subprocess.run(["readelf", "-dW", *map(str, native)], check=True, capture_output=True, text=True).stdout
    own = {path.name for path in native}
    usual = re.compile(r"(lib(c|m|dl|rt|pthread|z)|ld-linux-.*)\.so\.\d+")
    other = {name for name in re.findall(r"NEEDED.*\[(.*)\]", text) if name not in own and not usual.fullmatch(name)}
    if other:
        sys.exit(f"a wheel for all systems cannot need {', '.join(sorted(other))}")


def tag(native: list[Path]) -> str:
    machine = os.uname().machine
    header = subprocess.run(["readelf", "-hW", str(native[0])], check=True, capture_output=True, text=True).stdout
    if "AArch64" in header:
        machine = "aarch64"
    major, minor = newest_glibc(native)
    return f"py3-none-manylinux_{major}_{minor}_{machine}"


def contents(files: Path) -> Iterator[tuple[str, Path]]:
    """Places in the wheel, and what goes there. bin/ and share/ of the files land in the prefix."""
    data = f"tilevm-{version()}.data"
    for path in sorted((HERE / "tilevm").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(HERE).as_posix(), path
    for path in sorted(p for p in files.rglob("*") if p.is_file()):
        place = path.relative_to(files)
        head = {"bin": f"{data}/scripts", "package": "tilevm/lib", "licenses": f"tilevm-{version()}.dist-info/licenses"}
        rest = place.relative_to(place.parts[0]).as_posix()
        yield f"{head[place.parts[0]]}/{rest}" if place.parts[0] in head else f"{data}/data/{place.as_posix()}", path


def is_program(data: bytes) -> bool:
    return data.startswith(b"\x7fELF")


def write(files: Path, directory: Path) -> str:
    """Writes the wheel, complete or not at all; returns its name."""
    entries = [(name, path.read_bytes()) for name, path in contents(files)]
    native = [path for _, path in contents(files) if is_program(path.read_bytes())]
    check_needs(native)
    info, wheel_tag = f"tilevm-{version()}.dist-info", tag(native)
    entries += [(f"{info}/METADATA", metadata().encode()),
                (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tilevm\nRoot-Is-Purelib: false\nTag: {wheel_tag}\n"
                 .encode())]
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in entries)
    entries.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    name = f"tilevm-{version()}-{wheel_tag}.whl"
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / (name + ".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, data in entries:
            entry = zipfile.ZipInfo(place, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program(data) else 0o100644) << 16
            wheel.writestr(entry, data)
    temporary.replace(directory / name)
    return name


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """For pip. Needs the compiler and make, as any build of the project."""
    subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", "wheel-files"], check=True, stdout=sys.stderr)
    return write(ROOT / "build/release/wheel", Path(wheel_directory))


if __name__ == "__main__":
    print(Path(sys.argv[2]) / write(Path(sys.argv[1]), Path(sys.argv[2])))
