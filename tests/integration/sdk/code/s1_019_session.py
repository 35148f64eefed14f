import sys

import jupyter_pai.sdk

print(jupyter_pai.sdk.__version__)

from jupyter_pai.sdk.core.session import setup_default_session, Session, get_default_session
from jupyter_pai.sdk.job.common import JobConfig
import oss2

sess = get_default_session()

if not sess:
    print("config session")
    sess = setup_default_session(
        access_key_id="<YourAccessKeyId>",
        access_key_secret="<YourAccessKeySecret>",
        region_id="<RegionIdWorking>",
        workspace_id="<YourWorkspaceId>",
        oss_bucket_name="<YourOssBucketName>",
    )
    # 将当前的配置持久化到 ~/.pai/config.json，SDK默认从对应的路径读取配置初始化默认session。
    sess.persist_config()
