"""`jupyter_pai.sdk.oss_utils`, by its name in the PAI SDK."""

from ..oss_utils import OssUriObj, download, is_oss_uri, parse_oss_url, upload

__all__ = ["OssUriObj", "download", "is_oss_uri", "parse_oss_url", "upload"]
