"""The package that has a module."""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec

# Packages whose names differ from those of their modules.
_PACKAGES = {
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "distutils": "setuptools",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
}
# Modules that several packages share. None of these packages has the name of the module, or it has little of it.
_SHARED = frozenset(
    """azure backports flufl google googleapis jaraco keystoneauth1 nvidia opentelemetry oslo paste plone
    repoze ruamel sphinxcontrib z3c zc zope""".split()
)


def package_of(module: str) -> str:
    """Return the package that has a module such as `google.cloud.storage`: that of an installed one, or of a well-known
    one, otherwise the one of its name. Empty for a module of Python, and if its name does not tell. May block."""
    head, dot, _rest = module.partition(".")
    if head in _PACKAGES:
        return _PACKAGES[head]
    if head in sys.stdlib_module_names:
        return ""
    installed = [one for one in distributions() if _has(one, head)] if _is_here(head) else []
    names = {one.name for one in installed}
    if is_shared := head in _SHARED or len(names) > 1:
        names = {one.name for one in installed if dot and _has(one, module)}
    return names.pop() if len(names) == 1 else "" if is_shared else head


def _is_here(head: str) -> bool:
    try:
        return find_spec(head) is not None
    except (ImportError, ValueError):
        return False


def _has(package: Distribution, module: str) -> bool:
    path = module.replace(".", "/")
    names = map(str, package.files or ())
    return any(name.startswith((f"{path}/", f"{path}.")) and name.endswith((".py", ".so")) for name in names)
