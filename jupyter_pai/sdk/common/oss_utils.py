"""`jupyter_pai.sdk.oss_utils`, by its name in the PAI SDK."""

from ...core.i18n import N_
from ..absent import absent_names
from ..oss_utils import OssUriObj, download, is_oss_uri, parse_oss_url, upload

__all__ = ["OssUriObj", "download", "is_oss_uri", "parse_oss_url", "upload"]

__getattr__ = absent_names(
    __name__, {"CredentialProviderWrapper": N_("A bucket with the credentials of a session: session.get_oss_bucket(…)")}
)
