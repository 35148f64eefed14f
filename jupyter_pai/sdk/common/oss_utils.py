"""`jupyter_pai.sdk.oss_utils`, where the PAI SDK's documents look for it."""

from ..oss_utils import OssUriObj, download, is_oss_uri, parse_oss_url, upload

__all__ = ["OssUriObj", "download", "is_oss_uri", "parse_oss_url", "upload"]
