"""An HTTPS proxy for clients that know the public hosts only: it maps those hosts to the stand-in.

Clients find the proxy by `HTTPS_PROXY` and its certificate by `SSL_CERT_FILE`, as in a company network.
"""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["certificate", "start"]

_REGIONS = ("cn-shanghai", "cn-beijing", "cn-hangzhou")
_HOSTS = [x509.DNSName(f"*.{region}.aliyuncs.com") for region in _REGIONS]


def certificate(folder: Path, hosts: Sequence[x509.GeneralName] = _HOSTS) -> ssl.SSLContext:
    """A certificate for the public hosts or others, signed by itself; `folder/ca.pem` is what clients trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stand-in")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context


async def start(port: int, suffixes: tuple[str, ...] = (".aliyuncs.com",)) -> asyncio.Server:
    """A proxy that leads every host of the platform to a port of this machine, and nothing to anywhere else."""
    ends = tuple(f"{suffix}:443".encode() for suffix in suffixes)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections = [writer]
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).split(b" ")
            if request[0] != b"CONNECT" or not request[1].endswith(ends):
                writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                return
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upstream, sender = await asyncio.open_connection("127.0.0.1", port)
            connections.append(sender)
            await asyncio.gather(_pump(reader, sender), _pump(upstream, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            for connection in connections:
                connection.transport.abort()
            raise
        finally:
            for connection in connections:
                connection.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
