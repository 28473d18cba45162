"""Prints the bill of materials of a release: SPDX 2.3 as JSON. The same arguments and files give the same bytes.

  sbom.py VERSION COMMIT FOLDER     FOLDER has the files of the release; SOURCE_DATE_EPOCH is the time to state, LICENSE_NAME
                                    the licence (mk/owner.mk)
"""
import hashlib
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

# What programs and libraries are linked with: name of the package, its module of pkg-config, its licence, where it comes from,
# and how tilevm uses it.
LIBRARIES = [
    ("zlib", "zlib", "Zlib", "https://zlib.net", "DEPENDS_ON"),
    ("cJSON", "libcjson", "MIT", "https://github.com/DaveGamble/cJSON", "DEPENDS_ON"),
    ("zstd", "libzstd", "BSD-3-Clause", "https://github.com/facebook/zstd", "OPTIONAL_DEPENDENCY_OF"),
    ("lz4", "liblz4", "BSD-2-Clause", "https://github.com/lz4/lz4", "OPTIONAL_DEPENDENCY_OF"),
    ("openssl", "libcrypto", "Apache-2.0", "https://www.openssl.org", "OPTIONAL_DEPENDENCY_OF"),
]
PROJECT = "SPDXRef-tilevm"
NO_ASSERTION = "NOASSERTION"


def library_version(module: str) -> dict[str, str]:
    """Of the one that is built with, if pkg-config knows it."""
    try:
        found = subprocess.run(["pkg-config", "--modversion", module], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return {}
    return {"versionInfo": found.stdout.strip()} if found.returncode == 0 else {}


def package(spdx_id: str, name: str, home: str, licence: str, **more: Any) -> dict[str, Any]:
    return {"SPDXID": spdx_id, "name": name, "downloadLocation": home, "filesAnalyzed": False,
            "licenseConcluded": NO_ASSERTION, "licenseDeclared": licence, "copyrightText": NO_ASSERTION, **more}


def file_entry(number: int, path: Path, folder: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"SPDXID": f"SPDXRef-file-{number}", "fileName": "./" + path.relative_to(folder).as_posix(),
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
            "licenseConcluded": NO_ASSERTION, "copyrightText": NO_ASSERTION}


def relation(a: str, kind: str, b: str) -> dict[str, str]:
    return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}


def library_relation(spdx_id: str, kind: str) -> dict[str, str]:
    return relation(PROJECT, kind, spdx_id) if kind == "DEPENDS_ON" else relation(spdx_id, kind, PROJECT)


def document(version: str, commit: str, folder: Path) -> dict[str, Any]:
    created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    files = [file_entry(i, path, folder) for i, path in enumerate(sorted(p for p in folder.rglob("*") if p.is_file()))]
    # The name of a document is to be unique: it is made of what the document says.
    seal = hashlib.sha256(json.dumps([version, commit, files]).encode()).hexdigest()[:16]
    packages = [package(PROJECT, "tilevm", NO_ASSERTION, os.environ.get("LICENSE_NAME") or NO_ASSERTION,
                        versionInfo=version, sourceInfo=f"commit {commit}")]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", PROJECT)]
    for name, module, licence, home, kind in LIBRARIES:
        packages.append(package(f"SPDXRef-{name}", name, home, licence, **library_version(module)))
        relations.append(library_relation(f"SPDXRef-{name}", kind))
    relations += [relation(entry["SPDXID"], "GENERATED_FROM", PROJECT) for entry in files]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tilevm-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/tilevm-{version}-{seal}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tilevm-sbom"]},
            "packages": packages, "files": files, "relationships": relations}


if __name__ == "__main__":
    print(json.dumps(document(sys.argv[1], sys.argv[2], Path(sys.argv[3])), indent=2))
