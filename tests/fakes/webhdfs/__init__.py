"""A stand-in for HDFS on loopback: WebHDFS over a folder of this machine, with the redirects of a real cluster.

    from tests.fakes.webhdfs import web_hdfs

    with web_hdfs(tmp_path / "hdfs") as hdfs:
        client = hdfs_client.InsecureClient(hdfs.name_node, user="me")
        client.write("/user/me/a", b"1")
        assert hdfs.path("/user/me/a").read_bytes() == b"1"
        assert hdfs.count("datanode", "CREATE") == 1

It runs in a process of its own and ends with the `with`. It knows nothing of our code, and no product code knows it.

- `hdfs.name_node` is the address of a NameNode, which redirects to the port of a DataNode; `hdfs.gateway` serves
  `/webhdfs/api/v1` and rewrites redirects to its own `/a/DATANODE:PORT/webhdfs/v1/…`, as OpenPAI's pylon does.
- `hdfs.requests` is all that was asked, `hdfs.count(service, operation)` how often.
- `hdfs.faults.add(kind, "datanode:CREATE", ...)` lets something go wrong; kinds are those of the faults of the
  stand-in of Alibaba PAI.
- `hdfs.set(safe_mode=True)` changes a setting while it runs: `settings.Settings`.

Another server serves the same by `WebHdfs(folder, settings).routes()` (`handlers.WebHdfs`).
"""

from .handle import WebHdfsServer, web_hdfs
from .handlers import WebHdfs
from .settings import Settings

__all__ = ["Settings", "WebHdfs", "WebHdfsServer", "web_hdfs"]
