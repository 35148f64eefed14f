"""Rules that describe secrets: formats of keys, and places where passwords stand.

A *certain* secret has a unique form, such as a private key block, or a key id with its prefix and length. A *likely*
one resembles a secret: random text assigned to a name like `secret`, a password in a URL.

The formats are from the documents of the providers. To add one, add a rule, a name in `KINDS` or `PROVIDERS`, and an
example in `tests/support/provider_keys.py`, and increase `VERSION`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..core.i18n import N_, _

# Version of the rules; matches of other versions are outdated.
VERSION = 3

Check = Literal["random", "password", "assigned", "basic", "any"]


class Rule(NamedTuple):
    """A pattern in RE2 syntax with one group, the secret part, and the check that this part must pass:

    `random`    it looks random, and the match is not a placeholder
    `password`  it is not a placeholder, a variable or the word `password`
    `assigned`  it is a literal of at least 16 characters that looks random
    `basic`     it is `user:password` in base64
    `any`       none
    """

    kind: str
    pattern: str
    certain: bool = True
    check: Check = "random"


KINDS = {
    "private_key": N_("private key"),
    "keystore": N_("keystore"),
    "aliyun": N_("Alibaba Cloud AccessKey"),
    "tencent": N_("Tencent Cloud SecretId"),
    "aws": N_("AWS access key"),
    "github": N_("GitHub token"),
    "gitlab": N_("GitLab token"),
    "huggingface": N_("Hugging Face token"),
    "openai": N_("OpenAI or compatible key"),
    "slack": N_("Slack token"),
    "pypi": N_("PyPI token"),
    "wandb": N_("Weights & Biases key"),
    "jupyter": N_("Jupyter token"),
    "openpai": N_("OpenPAI token"),
    "jwt": N_("bearer token"),
    "url": N_("password in a URL"),
    "assignment": N_("secret value"),
    "webhook": N_("webhook URL"),
    "netrc": N_("password of a .netrc file"),
    "registry": N_("password of a container registry"),
    "terraform": N_("secret of a Terraform state"),
    "connection": N_("password of a connection string"),
    "header": N_("authorization header"),
}

# Shown as "{name} key".
PROVIDERS = {
    "1password": "1Password", "age": "age", "airtable": "Airtable", "aiven": "Aiven", "anthropic": "Anthropic",
    "artifactory": "Artifactory", "atlassian": "Atlassian", "azure": "Azure", "baidu": "Baidu Cloud", "brevo": "Brevo",
    "buildkite": "Buildkite", "circleci": "CircleCI", "cloudflare": "Cloudflare", "crates": "crates.io",
    "databricks": "Databricks", "digitalocean": "DigitalOcean", "discord": "Discord", "dockerhub": "Docker Hub",
    "doppler": "Doppler", "dropbox": "Dropbox", "dynatrace": "Dynatrace", "facebook": "Facebook", "figma": "Figma",
    "fly": "Fly.io", "google": "Google", "grafana": "Grafana", "groq": "Groq", "heroku": "Heroku",
    "huawei": "Huawei Cloud", "jina": "Jina AI", "kaggle": "Kaggle", "langsmith": "LangSmith",
    "launchdarkly": "LaunchDarkly", "linear": "Linear", "mailchimp": "Mailchimp", "mailgun": "Mailgun",
    "mapbox": "Mapbox", "modelscope": "ModelScope", "netlify": "Netlify", "newrelic": "New Relic", "notion": "Notion",
    "npm": "npm", "nuget": "NuGet", "nvidia": "NVIDIA", "openshift": "OpenShift", "paypal": "PayPal",
    "perplexity": "Perplexity", "pinecone": "Pinecone", "planetscale": "PlanetScale", "postman": "Postman",
    "prefect": "Prefect", "pulumi": "Pulumi", "replicate": "Replicate", "rubygems": "RubyGems", "runpod": "RunPod",
    "sendgrid": "SendGrid", "sentry": "Sentry", "shopify": "Shopify", "sonar": "Sonar", "sourcegraph": "Sourcegraph",
    "square": "Square", "stripe": "Stripe", "supabase": "Supabase", "tailscale": "Tailscale", "tavily": "Tavily",
    "telegram": "Telegram", "terraform_cloud": "Terraform Cloud", "twilio": "Twilio", "vault": "Vault",
    "volcengine": "Volcengine", "wireguard": "WireGuard", "xai": "xAI", "zhipu": "Zhipu AI",
}  # fmt: skip


def title(kind: str) -> str:
    """Return the display name of a kind."""
    return _(KINDS[kind]) if kind in KINDS else _("{name} key").format(name=PROVIDERS[kind])


_QUOTE = r"""\\?["']"""
_GIVEN = rf"(?:{_QUOTE})?\]?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}[bruf]?(?:{_QUOTE})?"
_BETWEEN = r"""(?:\s|["'+,()|>#*;\\]|\\[nrt]|[bruf]["']|(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n\\"]*)"""
# The text between an `ak` and its `sk`; and names of keys after that of a provider.
_TO_SK = rf"""["'\s,;]{{1,9}}(?:export )?(?i:sk){_GIVEN}"""
_KEY_NAMES = "_(?i:ak|sk|api_?key|access_?key(?:_?id)?|secret_?(?:access_?)?key)"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMES = (
    "secret|passw(?:or)?d|passphrase|token|credentials?|(?:api|access|private|account|auth|encryption|signing|storage"
    "|sdk|service|shared|license|subscription|admin|master|deploy|ssh|app)[_-]?key|_pat"
)

RULES = (
    # Private keys: PEM, PEM in base64 as in kubeconfig files, PuTTY.
    Rule(
        "private_key",
        rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,2}}PRIVATE KEY(?: BLOCK)?-----{_BETWEEN}{{1,40}}([A-Za-z0-9+/=]{{40}})",
    ),
    Rule(
        "private_key",
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NIIFBSSVZBVE|FTkNSWVBURUQgUFJJVkFUR)"
        "([A-Za-z0-9+/=]{80})",
    ),
    Rule("private_key", r"PuTTY-User-Key-File-[23]: ([a-z0-9-]{3,40})", check="any"),
    # Clouds.
    Rule("aliyun", r"\bLTAI([A-Za-z0-9]{12,26})\b"),
    Rule("aliyun", r"\bSTS\.([A-Za-z0-9]{20,40})\b"),
    Rule("tencent", r"\bAKID([A-Za-z0-9_-]{32,})"),
    Rule("huawei", rf"(?:\b|_)(?i:huawei|huawei_?cloud|hw|hwcloud|modelarts|obs)(?i:_sdk)?{_KEY_NAMES}{_GIVEN}"
         r"([A-Z0-9]{20}|[A-Za-z0-9]{40})\b"),
    Rule("huawei", rf"\b(?i:ak){_GIVEN}[A-Z0-9]{{20}}{_TO_SK}([A-Za-z0-9]{{40}})\b"),
    Rule("huawei", r"""\b(?:Basic|Global)Credentials\(\s{0,9}["'][A-Z0-9]{20}["'],\s{0,9}["']([A-Za-z0-9]{40})["']"""),
    Rule("huawei", r"Access Key Id,Secret Access Key\s{1,4}[^\n,]{1,80},[A-Z0-9]{20},([A-Za-z0-9]{40})\b"),
    Rule("baidu", r"\bbce-v3/(ALTAK-[A-Za-z0-9]{16,}/[0-9a-f]{40,})"),
    Rule("baidu", r"\bALTAK([A-Za-z0-9]{17,30})\b"),
    Rule("baidu", rf"(?:\b|_)(?i:baidu|bce|baidubce|qianfan|ernie|aip){_KEY_NAMES}{_GIVEN}"
         r"([A-Za-z0-9]{24}|[A-Za-z0-9]{32})\b"),
    Rule("baidu", rf"\b(?i:ak){_GIVEN}(?:ALTAK[A-Za-z0-9]{{17,30}}|[0-9a-f]{{32}}){_TO_SK}([0-9a-f]{{32}})\b"),
    Rule("baidu", r"""\bBceCredentials\(\s{0,9}["'][A-Za-z0-9]{20,40}["'],\s{0,9}["']([0-9a-f]{32})["']"""),
    Rule("baidu", r"\bbaidubce\.com/oauth/2\.0/token\?[^\s\"'<>]{0,150}client_secret=([A-Za-z0-9]{32})\b"),
    Rule("volcengine", r"\bAKLT([A-Za-z0-9]{40,})"),
    Rule("aws", r"\b(?:AKIA|ASIA|ABIA|ACCA)([A-Z2-7]{16})\b"),
    Rule("aws", r"\b(?:ABSK|bedrock-api-key-)([A-Za-z0-9+/]{80,})"),
    Rule("aws", rf"\bamzn\.mws\.({_UUID})"),
    Rule("google", r"\bAIza([A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_/+=-]|$)"),
    Rule("google", r"\bGOCSPX-([A-Za-z0-9_-]{28})"),
    Rule("google", r"\bya29\.([A-Za-z0-9_-]{60,})"),
    Rule("google", r"\b1//0([A-Za-z0-9_-]{50,})"),
    Rule("google", r"\bAAAA[A-Za-z0-9_-]{7}:(APA91b[A-Za-z0-9_-]{100,})"),
    Rule("azure", r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)"),
    Rule("azure", rf"(?i:(?:storage|account|cosmos|access)[A-Za-z0-9_]{{0,20}}key){_GIVEN}([A-Za-z0-9+/]{{86}}==)"),
    Rule("azure", r"[?&;]sig=([A-Za-z0-9%+/]{40,80}(?:%3[dD]|=))"),
    Rule("azure", r"[0-9]Q~([A-Za-z0-9_~.-]{31,34})"),
    Rule("azure", rf"(?i:azure|devops)[A-Za-z_]{{0,20}}(?i:pat|key|token){_GIVEN}([a-z2-7]{{52}}|[A-Za-z0-9]{{84}})\b"),
    Rule("digitalocean", r"\bdo[opr]_v1_([0-9a-f]{64})"),
    Rule("cloudflare", r"\bv1\.0-([0-9a-f]{24}-[0-9a-f]{100,})"),
    Rule("cloudflare", r"\bcf(?:k|ut|at)_([A-Za-z0-9]{40,})"),
    Rule("heroku", r"\bHRKU-([A-Za-z0-9_-]{50,})"),
    Rule("fly", r"\b(?:fm[12][ar]?|fo1)_([A-Za-z0-9+/_-]{40,})"),
    Rule("netlify", r"\bnf[cop]_([A-Za-z0-9]{36,})"),
    Rule("supabase", r"\bsb(?:p|_secret)_([A-Za-z0-9_-]{30,})"),
    Rule("planetscale", r"\bpscale_(?:tkn|pw|oauth)_([A-Za-z0-9_.=-]{32,})"),
    Rule("databricks", r"\bdapi([0-9a-f]{32})"),
    Rule("aiven", r"\bAVNS_([A-Za-z0-9_-]{16,})"),
    Rule("vault", r"\bhv[bsr]\.([A-Za-z0-9_-]{24,})"),
    Rule("doppler", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?([A-Za-z0-9]{40,})"),
    Rule("1password", r"\bops_eyJ([A-Za-z0-9+/_-]{200,})"),
    Rule("1password", r"\bA3-([A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4})\b"),
    Rule("age", r"\bAGE-SECRET-KEY-1([QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})"),
    Rule("terraform_cloud", r"\.atlasv1\.([A-Za-z0-9_=-]{60,})"),
    Rule("pulumi", r"\bpul-([0-9a-f]{40})\b"),
    Rule("openshift", r"\bsha256~([A-Za-z0-9_-]{43})"),
    Rule("tailscale", r"\btskey-(?:[a-z]{3,10}-)?([A-Za-z0-9]{8,}-[A-Za-z0-9]{16,})"),
    Rule("wireguard", r"\b(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)"),
    # Code and packages.
    Rule("github", r"\bgh[pousr]_([A-Za-z0-9]{36,})\b"),
    Rule("github", r"\bgithub_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    Rule("gitlab", r"\bgl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|imt|agent|oas|ffct)-([A-Za-z0-9_.-]{20,})"),
    Rule("gitlab", r"\bGR1348941([A-Za-z0-9_-]{20})"),
    Rule("atlassian", r"\b(?:ATATT3|ATCTT3)([A-Za-z0-9_=-]{100,})"),
    Rule("atlassian", r"\bATBB([A-Za-z0-9]{28,})\b"),
    Rule("npm", r"\bnpm_([A-Za-z0-9]{36})\b"),
    Rule("npm", r""":_(?:authToken|auth|password)\s{0,4}=\s{0,4}"?([A-Za-z0-9+/_-]{16,}={0,2})"""),
    Rule("pypi", r"\bpypi-AgE([A-Za-z0-9_-]{60,})"),
    Rule("rubygems", r"\brubygems_([0-9a-f]{48})"),
    Rule("crates", r"\bcio([A-Za-z0-9]{32})\b"),
    Rule("nuget", r"\boy2([a-z0-9]{43})\b"),
    Rule("dockerhub", r"\bdckr_(?:pat|oat)_([A-Za-z0-9_-]{24,})"),
    Rule("artifactory", r"\b(?:AKCp|cmVmd)([A-Za-z0-9]{55,})\b"),
    Rule("sonar", r"\bsq[apu]_([0-9a-f]{40})\b"),
    Rule("circleci", r"\bCCI(?:PAT|PRJ)_([A-Za-z0-9]{20,}_[0-9a-f]{40})"),
    Rule("buildkite", r"\bbk(?:ua|aj|at|ct)_([0-9a-f]{40})"),
    Rule("sourcegraph", r"\bsg[pd]_(?:[0-9a-f]{16}_|local_)?([0-9a-f]{40,64})\b"),
    Rule("postman", r"\bPMAK-([0-9a-f]{24}-[0-9a-f]{34})"),
    # Machine learning.
    Rule("huggingface", r"\b(?:hf|api_org)_([A-Za-z0-9]{34,})\b"),
    Rule("wandb", rf"(?i:wandb)[A-Za-z0-9_.]{{0,30}}(?i:key|token|secret){_GIVEN}([0-9a-f]{{40}})\b"),
    Rule("wandb", rf"\bwandb[. ]login[\s(]{{1,4}}(?:[a-z_-]{{1,12}}[\s=]{{1,3}})?(?:{_QUOTE})?([0-9a-f]{{40}})\b"),
    Rule("wandb", r"api\.wandb\.ai\s{1,9}login\s{1,4}\S{1,40}\s{1,9}password\s{1,4}([0-9a-f]{40})\b"),
    Rule("wandb", r"\bwandb_v1_([A-Za-z0-9_]{60,})"),
    Rule("kaggle", r'"username"\s{0,4}:\s{0,4}"[^"]{1,60}"\s{0,9},\s{0,9}"key"\s{0,4}:\s{0,4}"([0-9a-f]{32})"'),
    Rule("kaggle", rf"(?i:kaggle)[A-Za-z_]{{0,10}}(?i:key){_GIVEN}([0-9a-f]{{32}})\b"),
    Rule("anthropic", r"\bsk-ant-[a-z0-9]{3,10}-([A-Za-z0-9_-]{60,})"),
    Rule("openai", r"\bsk-(?:proj|svcacct|admin|or-v1)-([A-Za-z0-9_-]{40,})"),
    Rule("openai", r"\bsk-([A-Za-z0-9]{32,})\b"),
    Rule("replicate", r"\br8_([A-Za-z0-9]{37})\b"),
    Rule("groq", r"\bgsk_([A-Za-z0-9]{48,})"),
    Rule("perplexity", r"\bpplx-([A-Za-z0-9]{40,})"),
    Rule("xai", r"\bxai-([A-Za-z0-9]{70,})"),
    Rule("nvidia", r"\bnvapi-([A-Za-z0-9_-]{60,})"),
    Rule("langsmith", r"\blsv2_(?:pt|sk)_([0-9a-f]{32}_[0-9a-f]{10})"),
    Rule("pinecone", r"\bpcsk_([A-Za-z0-9]{5,6}_[A-Za-z0-9]{40,})"),
    Rule("zhipu", r"\b([0-9a-f]{32}\.[A-Za-z0-9]{16})\b"),
    Rule("modelscope", rf"\bms-({_UUID})"),
    Rule("jina", r"\bjina_([A-Za-z0-9_-]{50,})"),
    Rule("tavily", r"\btvly-(?:dev-|prod-)?([A-Za-z0-9]{30,})"),
    Rule("prefect", r"\bpn[au]_([A-Za-z0-9]{36})\b"),
    Rule("runpod", r"\brpa_([A-Z0-9]{38,})"),
    # Messages and webhooks.
    Rule("slack", r"\bxox[abeoprs]-([A-Za-z0-9-]{24,})"),
    Rule("slack", r"\bxapp-[0-9]-([A-Za-z0-9-]{30,})"),
    Rule("webhook", r"\bhooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,})"),
    Rule("webhook", r"\bdiscord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,})"),
    Rule("webhook", r"\bwebhook\.office\.com/webhookb2/([0-9a-f@-]{36,})"),
    Rule("webhook", r"\boapi\.dingtalk\.com/robot/send\?access_token=([0-9a-f]{64})"),
    Rule("webhook", rf"\bqyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=({_UUID})"),
    Rule("webhook", rf"\bopen\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/({_UUID})"),
    Rule("discord", r"\b[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.([A-Za-z0-9_-]{27,40})\b"),
    Rule("telegram", r"\b[0-9]{8,10}:(AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    Rule("telegram", r"\bapi\.telegram\.org/bot[0-9]{8,10}:([A-Za-z0-9_-]{35})"),
    Rule("sendgrid", r"\bSG\.([A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{40,})"),
    Rule("mailgun", r"\bkey-([0-9a-f]{32})\b"),
    Rule("mailchimp", r"\b([0-9a-f]{32})-us[0-9]{1,2}\b"),
    Rule("brevo", r"\bxkeysib-([0-9a-f]{64})"),
    Rule("twilio", r"\bSK([0-9a-f]{32})\b"),
    Rule("twilio", r"""\bAC[0-9a-f]{32}["']?\s{0,4}(?:[,:]\s{0,4}["']?|\s(?i:auth_?token)"""
         rf"{_GIVEN})([0-9a-f]{{32}})\b"),
    Rule("twilio", rf"(?i:twilio)[A-Za-z_]{{0,20}}_(?i:token|secret){_GIVEN}([A-Za-z0-9]{{32}})\b"),
    # Payments and services.
    Rule("stripe", r"\b[rs]k_(?:live|test|prod)_([A-Za-z0-9]{16,})"),
    Rule("stripe", r"\bwhsec_([A-Za-z0-9+/]{32,})"),
    Rule("square", r"\bsq0(?:atp|csp|idp)-([A-Za-z0-9_-]{22,})"),
    Rule("square", r"\bEAAA([A-Za-z0-9_-]{56,64})\b"),
    Rule("facebook", r"\bEAA[A-Z]([A-Za-z0-9]{90,})"),
    Rule("paypal", r"access_token\$production\$[a-z0-9]{16}\$([0-9a-f]{32})"),
    Rule("shopify", r"\bshp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})"),
    Rule("newrelic", r"\bNR(?:AK|II|RA)-([A-Za-z0-9_-]{27,})"),
    Rule("sentry", r"\bsntry[su]_([A-Za-z0-9+/=_]{40,})"),
    Rule("grafana", r"\b(?:glsa_|glc_|eyJrIjoi)([A-Za-z0-9+/_]{40,})"),
    Rule("dynatrace", r"\bdt0[a-z][0-9]{2}\.([A-Z0-9]{24}\.[A-Z0-9]{64})"),
    Rule("linear", r"\blin_(?:api|oauth)_([A-Za-z0-9]{40})"),
    Rule("notion", r"\bntn_([0-9A-Za-z]{40,})"),
    Rule("notion", r"\bsecret_([A-Za-z0-9]{43})\b"),
    Rule("airtable", r"\bpat([A-Za-z0-9]{14}\.[0-9a-f]{64})"),
    Rule("figma", r"\bfig(?:d|o|u|oh|ur)_([A-Za-z0-9_-]{40,})"),
    Rule("dropbox", r"\bsl\.(?:[A-Za-z]\.)?([A-Za-z0-9_-]{120,})"),
    Rule("mapbox", r"\bsk\.eyJ([A-Za-z0-9_-]{50,}\.[A-Za-z0-9_-]{20,})"),
    Rule("launchdarkly", rf"\b(?:sdk|mob)-({_UUID})\b"),
    # Formats that many programs share.
    Rule("jupyter", r"[?&;]token=([0-9a-f]{48})\b"),
    Rule("jupyter", rf"(?i:jupyter(?:hub)?(?:_api|_server)?_?token){_GIVEN}([0-9a-f]{{32,64}})\b"),
    Rule("jwt", r"\beyJ([A-Za-z0-9_-]{10,})\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    Rule("registry", r'"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{8,}={0,2})"', check="basic"),
    Rule("terraform", r'"sensitive_attributes":\s{0,8}\[\s{0,40}([\[{])', check="any"),
    Rule("netrc", r"\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,4}\S{1,100}\s{1,9}password\s{1,4}([^\s<{$%]\S{7,199})"),
    Rule(
        "url",
        r"(?i:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|clickhouse)(?:\+[a-z0-9]{2,12})?"
        r"""://[^\s/:@"'<>{}$()`\\,]{0,100}:([^\s/@"'<>{}$()`\\,]{12,200})@[A-Za-z0-9\[]""",
    ),
    # Likely secrets.
    Rule(
        "netrc",
        r"\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,4}\S{1,100}\s{1,9}password\s{1,4}([^\s<{$%]\S{2,199})",
        False,
        "password",
    ),
    Rule("url", r"""://[^\s/:@"'<>{}$()`\\,]{0,100}:([^\s/@"'<>{}$()`\\,]{3,200})@[A-Za-z0-9\[]""", False, "password"),
    Rule("connection", r"""[?;&](?i:password|pwd)=([^;&\s"'<>{}$%\\]{8,100})""", False),
    Rule("header", r"(?i:authorization)[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?i:basic)\s{1,4}([A-Za-z0-9+/]{16,}={0,2})",
         False),
    Rule("header", r"(?i:authorization)[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?i:bearer|token|api-token|key=)\s{0,4}"
         r"([A-Za-z0-9_.~+/=-]{20,})", False),
    Rule("assignment", rf"(?i:{_NAMES})(?i:[_-]?(?:key|id|value|secret))?{_GIVEN}([A-Za-z0-9+/_=.~-]{{16,}})", False,
         "assigned"),
)  # fmt: skip
