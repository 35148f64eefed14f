"""Fake keys, generated at run time, so that no file contains the format of a key."""

from __future__ import annotations

import base64
import json
import random
import string

__all__ = ["CERTAIN", "HEX", "LETTERS", "chance", "private_key"]

LETTERS = string.ascii_letters + string.digits
HEX = string.digits + "abcdef"
_BASE32 = string.ascii_uppercase + "234567"


def chance(length: int, letters: str = LETTERS, seed: int = 7) -> str:
    """Return reproducible random text."""
    return "".join(random.Random(seed).choices(letters, k=length))


def private_key(name: str = "RSA ") -> str:
    """Return the block of a private key, of three lines."""
    body = "\n".join(chance(64, LETTERS + "+/", seed) for seed in (1, 2, 3))
    return f"-----BEGIN {name}PRIVATE {'KEY'}-----\n{body}\n-----END {name}PRIVATE {'KEY'}-----\n"


def _token(**payload: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(payload)}.{chance(43)}"


# Kind to texts of it.
CERTAIN: dict[str, list[str]] = {
    "private_key": [
        private_key(),
        private_key("OPENSSH "),
        private_key(""),
        private_key("ENCRYPTED "),
        private_key().replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n", 1),
        json.dumps({"key": private_key()}),
        "PuTTY-User-" + "Key-File-3: ssh-ed25519\n",
    ],
    "aliyun": ["LT" + "AI" + chance(20), "LT" + "AI" + chance(12)],
    "tencent": ["AK" + "ID" + chance(32)],
    "aws": ["AK" + "IA" + chance(16, _BASE32), "AS" + "IA" + chance(16, _BASE32)],
    "github": ["gh" + "p_" + chance(36), "github_" + "pat_" + chance(22) + "_" + chance(59)],
    "gitlab": ["glp" + "at-" + chance(20)],
    "huggingface": ["h" + "f_" + chance(34, string.ascii_letters)],
    "anthropic": ["sk-" + "ant-api03-" + chance(93)],
    "openai": ["s" + "k-" + chance(48), "s" + "k-proj-" + chance(100), "s" + "k-" + chance(32, HEX)],
    "slack": ["xo" + "xb-" + chance(12, "23789") + "-" + chance(24)],
    "pypi": ["pyp" + "i-AgEIcHlwaS5vcmc" + chance(80)],
    "wandb": ["WANDB_" + "API_KEY=" + chance(40, HEX), f'wandb.{"login"}(key="{chance(40, HEX)}")'],
    "jupyter": ["http://localhost:8888/lab?tok" + "en=" + chance(48, HEX), "JUPYTER_TOK" + "EN=" + chance(48, HEX)],
    "openpai": [_token(username="ada", application=True, iat=1700000000)],
}
BEARER = _token(sub="ada", iat=1700000000)
