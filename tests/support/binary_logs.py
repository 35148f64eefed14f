"""Logs that are hard to read: they are stored byte for byte, and every reader handles them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BINARY_LOGS", "command_of", "prepare"]

_MEGABYTE = 1 << 20
_BAR = b"".join(
    b"\r%3d%%|%-50s| %d/1000 [00:01<00:02, loss=%.3f]" % (n // 10, b"#" * (n // 20), n, n) for n in range(1001)
)

# Name to the bytes that a job writes; those of a command of its own follow.
BINARY_LOGS: dict[str, bytes] = {
    "nothing": b"",
    "every byte": bytes(range(256)) * 3,
    "no text": b"\xff\xfe\x00\xc3\x28\xed\xa0\x80\xf0\x9f\x98\xf8\x88\x80\x80\x80 and a cut \xe4\xb8",
    "nul": b"\0" * 300_000 + b"\nafter\n",
    "invalid only": b"\xff" * 700_001,
    "colours": b"\x1b[31mred\x1b[0m\n\x1b[2J\x1b[H\x1b[999;999Hfar\x1b[?1049h\n\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\n",
    "open sequence": b"before\n\x1b]0;never ends\n\x1b[" + b"0;" * 100_000 + b"\nafter\n",
    "many escapes": b"\x1b[" * 200_000 + b"\n" + b"\x1b]" * 200_000 + b"\n",
    "bars": _BAR + b"\ndone\n" + _BAR.replace(b"\r", b"\n") + _BAR,
    "carriage returns": b"\r" * 400_000 + b"x" + b"\r\n" * 10,
    "one line": b"x" * (10 * _MEGABYTE) + b"\nafter\n",
    "one line of characters": "中".encode() * _MEGABYTE + "末尾".encode(),
    "no line end": b"y" * (2 * _MEGABYTE + 1),
    "line ends": b"\n" * 500_000,
    "other line ends": "a\vb\fc\x1cd\x85e\u2028f\u2029g\n\ufeffh\u202ei\n".encode() * 100,
    "markup": b"<script>alert(1)</script><img src=x onerror=alert(1)>&lt;\n</pre><b>\n%s {} {0} \\n `$(id)`\n",
    "reports": b"".join(
        b"[pai] %s\n" % text
        for text in (
            b"{",
            b"{}",
            b'{"metric": ' + b"[" * 50_000 + b"}",
            b'{"metric": {"a": "b"}, "value": 1}',
            b'{"metric": "loss", "value": NaN}',
            b'{"metric": "\\ud800", "value": 1e999}',
            b'{"metric": "big", "value": 1' + b"0" * 5_000 + b"}",
            b'{"progress": NaN}',
            b'{"progress": -Infinity}',
            b'{"metric": "fine", "value": 1, "step": 7}',
        )
    ),
    "beginnings of reports": b"[pai] {" * 400_000 + b"\n" + b'[pai] {"progress": 0.5}\n',
    "errors": b"Traceback (most recent call last):\n" * 20_000 + b" " * 500_000 + b"\n: not found" + b"\n" * 20_000,
}

_COMMANDS = {
    "truncating": (
        "printf 'first\\n'; echo a > /dev/stderr; echo b > /dev/stdout; echo c | tee /dev/stderr; "
        "echo d >&2; python -c \"open('/dev/stdout', 'w').write('e\\n'); open('/dev/stderr', 'w').write('f\\n')\"; "
        "printf 'last\\n'",
        b"first\na\nb\nc\nc\nd\ne\nf\nlast\n",
    ),
    "byte by byte": (
        "python -c \"import os, time; text = '中\\r文\\n'.encode() * 20; "
        '[(os.write(1, bytes([b])), time.sleep(0.002)) for b in text]"',
        "中\r文\n".encode() * 20,
    ),
}
BINARY_LOGS |= {name: written for name, (_command, written) in _COMMANDS.items()}


def prepare(folder: Path) -> None:
    """Write the files that the commands print."""
    for name, written in BINARY_LOGS.items():
        (folder / f"{name}.log").write_bytes(written)


def command_of(name: str) -> str:
    """Return the command that writes a log, in the prepared folder."""
    return _COMMANDS[name][0] if name in _COMMANDS else f"cat '{name}.log'"
