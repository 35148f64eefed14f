"""Texts with a secret, as the documents of the providers show them, built at run time: no file contains a key.

`POSITIVES` has a template for each name. In a template, `<40>` stands for 40 random letters and digits, `<40h>` for
hexadecimal digits, and so on (`ALPHABETS`). A `|` divides the prefix of a key, and is removed. The part of a name
before the colon is the provider or the format, the rest the place where its documents have the key.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import re
import string
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256

from .fake_keys import private_key

__all__ = ["is_held_out", "positives"]

_ALNUM = string.ascii_letters + string.digits
ALPHABETS = {
    "": _ALNUM,
    "a": string.ascii_letters,
    "b": _ALNUM + "+/",  # base64
    "d": string.digits,
    "h": string.digits + "abcdef",
    "l": string.ascii_lowercase + string.digits,
    "t": string.ascii_uppercase + "234567",  # base32
    "u": string.ascii_uppercase + string.digits,
    "w": _ALNUM + "_-",  # base64 for URLs
    "x": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",  # bech32
}
_UUID = "<8h>-<4h>-<4h>-<4h>-<12h>"

POSITIVES = {
    # Clouds.
    "aws: credentials file": "[default]\naws_access_key_id = AK|IA<16t>\naws_secret_access_key = <40b>\n",
    "aws: temporary key": "export AWS_ACCESS_KEY_ID=AS|IA<16t>\n",
    "aws: secret of boto3": 'boto3.client("s3", aws_secret_access_key="<40b>")\n',
    "aws: bedrock": "AWS_BEARER_TOKEN_BEDROCK=AB|SK<128b>\n",
    "aws: marketplace": "auth_token = 'amzn.mw|s." + _UUID + "'\n",
    "google: api key": "GOOGLE_API_KEY=AI|za<35w>\n",
    "google: maps": "<script src='https://maps.googleapis.com/maps/api/js?key=AI|za<35w>&libraries=places'></script>\n",
    "google: gemini": 'genai.configure(api_key="AI|za<35w>")\n',
    "google: oauth client": '{"installed":{"client_id":"<12d>-<32l>.apps","client_secret":"GO|CSPX-<28w>"}}',
    "google: access token": "Authorization: Bearer ya|29.a0<120w>\n",
    "google: refresh token": '{\n  "refresh_token": "1/|/0<60w>",\n  "type": "authorized_user"\n}',
    "google: cloud messaging": "Authorization: key=AA|AA<7w>:AP|A91b<134w>\n",
    "azure: storage": "DefaultEndpointsProtocol=https;AccountName=ada;Account|Key=<86b>==;EndpointSuffix=x\n",
    "azure: storage variable": "AZURE_STORAGE_KEY=<86b>==\n",
    "azure: sas": "https://ada.blob.core.windows.net/d?sv=2022-11-02&sp=rl&se=2030-01-01T00%3A00%3A00Z&s|ig=<43>%3D",
    "azure: service bus": "Endpoint=sb://ada.servicebus.windows.net/;SharedAccessKeyName=r;SharedAccess|Key=<43b>=\n",
    "azure: cosmos": "AccountEndpoint=https://ada.documents.azure.com:443/;Account|Key=<86b>==;\n",
    "azure: client secret": "AZURE_CLIENT_SECRET=<3>8|Q~<34>\n",
    "azure: openai": 'client = AzureOpenAI(api_key="<32h>", api_version="2024-02-01")\n',
    "azure: devops": "AZURE_DEVOPS_EXT_PAT=<52l>\n",
    "alibaba: aliyun config": '{"access_key_id": "LT|AI5t<16>", "access_key_secret": "<30>"}',
    "alibaba: secret": "export ALIBABA_CLOUD_ACCESS_KEY_SECRET=<30>\n",
    "alibaba: sts": '{"AccessKeyId": "ST|S.NT<22>", "AccessKeySecret": "<44>"}',
    "tencent: id": "TENCENTCLOUD_SECRET_ID=AK|ID<32>\n",
    "tencent: key": "secret_key: <32>\n",
    "huawei: variables": "export HUAWEICLOUD_SDK_AK=<20u>\nexport HUAWEICLOUD_SDK_SK=<40>\n",
    "huawei: sdk": 'credentials = BasicCredentials("<20u>", "<40>")\n',
    "huawei: modelarts": "mox.file.set_auth(ak='<20u>', sk='<40>', server='obs.cn-north-1.myhuaweicloud.com')\n",
    "huawei: obsutil": "endpoint=https://obs.cn-north-4.myhuaweicloud.com\nak=<20u>\nsk=<40>\n",
    "huawei: file": "User Name,Access Key Id,Secret Access Key\nada,<20u>,<40>\n",
    "baidu: qianfan": 'OpenAI(api_key="bce-v|3/ALTAK-<21>/<40h>", base_url="https://qianfan.baidubce.com/v2")\n',
    "baidu: key id": "[Defaults]\nAk = ALT|AK<21>\n",
    "baidu: sdk": "BceClientConfiguration(credentials=BceCredentials('<32h>', '<32h>'), endpoint='bj.bcebos.com')\n",
    "baidu: bcecmd": "[Defaults]\nAk = <32h>\nSk = <32h>\nRegion = bj\n",
    "baidu: variables": "QIANFAN_AK=<24>\nQIANFAN_SK=<32>\n",
    "baidu: oauth": "https://aip.baidubce.com/oauth/2.0/token?client_id=<24>&client_secret=<32>\n",
    "volcengine: key": "VOLC_ACCESSKEY=AK|LT<44>\n",
    "digitalocean: token": "doctl auth init -t do|p_v1_<64h>\n",
    "digitalocean: oauth": "access-token: do|o_v1_<64h>\n",
    "linode: token": "LINODE_TOKEN=<64h>\n",
    "hetzner: token": "export HCLOUD_TOKEN=<64>\n",
    "cloudflare: token": "CLOUDFLARE_API_TOKEN=<40w>\n",
    "cloudflare: origin ca": "X-Auth-User-Service-Key: v1.|0-<24h>-<146h>\n",
    "heroku: api key": "HEROKU_API_KEY=HR|KU-AA<58w>\n",
    "heroku: uuid": "heroku_api_key = '" + _UUID + "'\n",
    "fly: token": "FLY_API_TOKEN=fm|2_<120b>\n",
    "netlify: token": "NETLIFY_AUTH_TOKEN=nf|p_<36>\n",
    "supabase: token": "SUPABASE_ACCESS_TOKEN=sb|p_<40h>\n",
    "planetscale: password": "password='pscale_|pw_<43w>'\n",
    "databricks: token": "[DEFAULT]\nhost = https://dbc.cloud.databricks.com\ntoken = da|pi<32h>\n",
    # Code and packages.
    "github: token": "git clone https://x-access-token:gh|s_<36>@github.com/ada/code.git\n",
    "github: actions": "env:\n  GITHUB_TOKEN: gh|p_<36>\n",
    "github: oauth": "  oauth_token: gh|o_<36>\n",
    "github: fine-grained": "GH_TOKEN=github|_pat_<22>_<59>\n",
    "gitlab: personal": 'curl --header "PRIVATE-TOKEN: gl|pat-<20w>" https://gitlab.com/api/v4/user\n',
    "gitlab: deploy": "docker login -u ada -p gl|dt-<20w> registry.gitlab.com\n",
    "gitlab: runner": 'token = "gl|rt-<20w>"\n',
    "gitlab: trigger": "curl -F token=gl|ptt-<40h> -F ref=main https://gitlab.com/api/v4/projects/1/trigger/pipeline\n",
    "bitbucket: app password": "BITBUCKET_APP_PASSWORD=AT|BB<32>\n",
    "atlassian: api token": "JIRA_API_TOKEN=AT|ATT3xFfGF0<180w>=<8h>\n",
    "npm: token": "//registry.npmjs.org/:_authToken=np|m_<36>\n",
    "npm: uuid": "//registry.example.org/:_auth|Token=" + _UUID + "\n",
    "pypi: token": "[pypi]\nusername = __token__\npassword = py|pi-AgEIcHlwaS5vcmc<150w>\n",
    "rubygems: token": ":rubygems_api_key: ruby|gems_<48h>\n",
    "crates: token": '[registry]\ntoken = "ci|o<32>"\n',
    "nuget: key": "dotnet nuget push a.nupkg --api-key oy|2<43l>\n",
    "docker hub: token": "DOCKER_PASSWORD=dckr|_pat_<27w>\n",
    "artifactory: api key": "X-JFrog-Art-Api: AK|Cp8<68>\n",
    "artifactory: reference token": "access_token: cm|VmdGtuOj<54>\n",
    "sonar: token": "sonar.token=sq|p_<40h>\n",
    "circleci: token": "CIRCLE_TOKEN=CCI|PAT_<22>_<40h>\n",
    "buildkite: token": "Authorization: Bearer bk|ua_<40h>\n",
    "snyk: token": "SNYK_TOKEN=" + _UUID + "\n",
    "sourcegraph: token": "SRC_ACCESS_TOKEN=sg|p_<16h>_<40h>\n",
    "pulumi: token": "PULUMI_ACCESS_TOKEN=pu|l-<40h>\n",
    "terraform: cloud": 'credentials "app.terraform.io" {\n  token = "<14>.atlas|v1.<67w>"\n}\n',
    "doppler: token": "DOPPLER_TOKEN=dp.|pt.<43>\n",
    "vault: token": "export VAULT_TOKEN=hv|s.<95w>\n",
    "1password: service account": "OP_SERVICE_ACCOUNT_TOKEN=op|s_eyJ<260b>\n",
    "age: key": "# created: 2024-01-01\nAGE-|SECRET-KEY-1<58x>\n",
    "postman: key": "X-Api-Key: PM|AK-<24h>-<34h>\n",
    # Machine learning.
    "huggingface: token": 'login(token="h|f_<34a>")\n',
    "huggingface: organization": "HF_TOKEN=api_|org_<34a>\n",
    "wandb: variable": "WANDB_API_KEY=<40h>\n",
    "wandb: login": 'wandb.login(key="<40h>")\n',
    "wandb: netrc": "machine api.wandb.ai\n  login user\n  password <40h>\n",
    "kaggle: file": '{"username":"ada","key":"<32h>"}',
    "kaggle: variable": "export KAGGLE_KEY=<32h>\n",
    "openai: key": 'client = OpenAI(api_key="s|k-<20>T3Blbk|FJ<20>")\n',
    "openai: project key": "OPENAI_API_KEY=s|k-proj-<74w>T3Blbk|FJ<74w>\n",
    "anthropic: key": 'anthropic.Anthropic(api_key="sk-|ant-api03-<93w>AA")\n',
    "cohere: key": 'co = cohere.Client("<40>")  # CO_API_KEY\nCO_API_KEY=<40>\n',
    "mistral: key": "MISTRAL_API_KEY=<32>\n",
    "replicate: token": "REPLICATE_API_TOKEN=r8|_<37>\n",
    "together: key": "TOGETHER_API_KEY=<64h>\n",
    "groq: key": 'Groq(api_key="gs|k_<52>")\n',
    "perplexity: key": "Authorization: Bearer ppl|x-<48>\n",
    "xai: key": "XAI_API_KEY=xa|i-<80>\n",
    "deepseek: key": 'OpenAI(api_key="s|k-<32h>", base_url="https://api.deepseek.com")\n',
    "openrouter: key": "OPENROUTER_API_KEY=sk-|or-v1-<64h>\n",
    "nvidia: key": "NVIDIA_API_KEY=nv|api-<64w>\n",
    "langsmith: key": "LANGSMITH_API_KEY=ls|v2_pt_<32h>_<10h>\n",
    "pinecone: key": 'Pinecone(api_key="pc|sk_<5>_<63>")\n',
    "pinecone: uuid": 'pinecone.init(api_key="' + _UUID + '", environment="us-east1-gcp")\n',
    "comet: key": "[comet]\napi_key=<25>\nworkspace=ada\n",
    "clearml: secret": 'api {\n  credentials { "access_key" = "<20u>", "secret_key" = "<50>" }\n}\n',
    "zhipu: key": 'ZhipuAI(api_key="<32h>.<16>")\n',
    "modelscope: token": "MODELSCOPE_API_TOKEN=ms|-" + _UUID + "\n",
    "jina: key": "Authorization: Bearer ji|na_<56>\n",
    "tavily: key": 'TavilyClient(api_key="tv|ly-<32>")\n',
    "prefect: key": "PREFECT_API_KEY=pn|u_<36>\n",
    "runpod: key": 'runpod.api_key = "rp|a_<40u>"\n',
    # Messages.
    "slack: bot": "SLACK_BOT_TOKEN=xo|xb-<12d>-<13d>-<24>\n",
    "slack: user": 'token: "xo|xp-<12d>-<12d>-<13d>-<32h>"\n',
    "slack: app": "SLACK_APP_TOKEN=xa|pp-1-A<10u>-<13d>-<64h>\n",
    "slack: webhook": "curl -X POST -d '{}' https://hooks.sl|ack.com/services/T<8u>/B<10u>/<24>\n",
    "discord: webhook": 'url = "https://disc|ord.com/api/webhooks/<18d>/<68w>"\n',
    "telegram: bot": 'Application.builder().token("<10d>:AA|<33w>").build()\n',
    "telegram: url": "https://api.telegram.org/bot<10d>:AA|<33w>/sendMessage\n",
    "teams: webhook": f"https://ada.web|hook.office.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/<32h>/{_UUID}\n",
    "dingtalk: robot": "https://oapi.dingtalk.com/robot/send?access_to|ken=<64h>\n",
    "wecom: robot": "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?ke|y=" + _UUID + "\n",
    "feishu: bot": "https://open.feishu.cn/open-apis/bot/v2/ho|ok/" + _UUID + "\n",
    "sendgrid: key": "SENDGRID_API_KEY='S|G.<22w>.<43w>'\n",
    "mailgun: key": "curl --user 'api:ke|y-<32h>' https://api.mailgun.net/v3/domains\n",
    "mailchimp: key": 'client.set_config({"api_key": "<32h>-us|21", "server": "us21"})\n',
    "brevo: key": "api-key: xkey|sib-<64h>-<16>\n",
    "twilio: key": 'account, key = "A|C<32h>", "S|K<32h>"\n',
    "twilio: sdk": 'client = Client("A|C<32h>", "<32h>")\n',
    "twilio: curl": 'curl https://api.twilio.com/2010-04-01/Accounts.json -u "A|C<32h>:<32h>"\n',
    "twilio: names": 'account_sid = "A|C<32h>"\nauth_token = "<32h>"\n',
    "twilio: token": "TWILIO_AUTH_TOKEN=<32h>\n",
    # Payments and services.
    "stripe: secret": 'stripe.api_key = "sk_|live_<24>"\n',
    "stripe: restricted": "STRIPE_KEY=rk_|live_<99>\n",
    "stripe: test": "curl https://api.stripe.com/v1/charges -u sk_|test_<24>:\n",
    "stripe: webhook": 'endpoint_secret = "whs|ec_<32>"\n',
    "square: token": "SQUARE_ACCESS_TOKEN=EA|AA<60w>\n",
    "square: secret": "application_secret: sq|0csp-<43w>\n",
    "paypal: token": "access_to|ken$production$<16l>$<32h>\n",
    "shopify: token": "X-Shopify-Access-Token: shp|at_<32h>\n",
    "datadog: key": "DD_API_KEY=<32h>\n",
    "new relic: key": "Api-Key: NR|AK-<27u>\n",
    "sentry: token": "SENTRY_AUTH_TOKEN=sntr|yu_<64h>\n",
    "grafana: service account": "Authorization: Bearer gl|sa_<32>_<8h>\n",
    "grafana: cloud": "GRAFANA_API_KEY=gl|c_eyJ<120b>\n",
    "dynatrace: token": "Authorization: Api-Token dt|0c01.<24t>.<64t>\n",
    "linear: key": "Authorization: li|n_api_<40>\n",
    "notion: token": 'Client(auth="nt|n_<11d><35>")\n',
    "airtable: token": "AIRTABLE_TOKEN=pa|t<14>.<64h>\n",
    "figma: token": "X-Figma-Token: fi|gd_<40w>\n",
    "dropbox: token": 'dropbox.Dropbox("s|l.<135w>")\n',
    "facebook: token": "https://graph.facebook.com/me?access_token=EA|ACEdEose0cBA<120>\n",
    "mapbox: secret": "MAPBOX_TOKEN=s|k.eyJ<76>.<22w>\n",
    "tailscale: key": "tailscale up --auth-key=ts|key-auth-<11>-<32>\n",
    "launchdarkly: key": "LAUNCHDARKLY_SDK_KEY=sd|k-" + _UUID + "\n",
    "atlas: database": "mongodb+srv://ada:<16>@cluster0.a1b2c.mongodb.net/?retryWrites=true\n",
    "aiven: password": "mysql://avnadmin:AV|NS_<19w>@ada.aivencloud.com:12345/db\n",
    # Formats.
    "database: postgres": "DATABASE_URL=postgres://ada:<20>@db.example.org:5432/app\n",
    "database: redis": "REDIS_URL=redis://:<24>@cache.internal:6379/0\n",
    "database: jdbc": "jdbc:mysql://db.internal/app?user=ada&pass|word=<16>\n",
    "database: sql server": "Server=tcp:ada.database.windows.net;Database=d;User ID=ada;Pass|word=<18>;Encrypt=true\n",
    "http: basic": "Authorization: Basic <43b>=\n",
    "http: bearer": "curl -H 'Authorization: Bearer <40w>' https://api.internal/v1\n",
    "netrc: any name": "machine git.internal login ada password <16>\n",
    "wireguard: key": "[Interface]\nPrivate|Key = <43b>=\nAddress = 10.0.0.2/24\n",
    "jupyter: token": "http://127.0.0.1:8888/lab?tok|en=<48h>\n",
    "kubernetes: token": "users:\n- name: ada\n  user:\n    token: sha|256~<43w>\n",
}


def positives() -> dict[str, bytes]:
    """Return all texts and files with a secret by name."""
    return {name: _filled(name, text).encode() for name, text in POSITIVES.items()} | {
        name: build(name) for name, build in _FILES.items()
    }


def is_held_out(name: str) -> bool:
    """Return whether a positive is among the third that was not looked at while the rules were written: the first byte
    of the SHA-256 of its name decides."""
    return sha256(name.encode()).digest()[0] % 3 == 0


def _filled(name: str, text: str) -> str:
    dice = random.Random(name)

    def fill(match: re.Match[str]) -> str:
        return "".join(dice.choices(ALPHABETS[match[2]], k=int(match[1])))

    return re.sub(r"<(\d+)([a-z]?)>", fill, text.replace("|", ""))


def _base64(text: bytes) -> str:
    return base64.b64encode(text).decode()


def _service_account(name: str) -> bytes:
    return json.dumps({"type": "service_account", "private_key": private_key("")}, indent=2).encode()


def _kubeconfig(name: str) -> bytes:
    return f"users:\n- name: ada\n  user:\n    client-key-data: {_base64(private_key().encode())}\n".encode()


def _kubernetes_secret(name: str) -> bytes:
    value = _base64(_filled(name, "<24>").encode())
    return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: {value}\n".encode()


def _discord(name: str) -> bytes:
    user = _base64(_filled(name, "1<17d>").encode())
    return _filled(name, f'client.run("{user}.G<5w>.<38w>")\n').encode()


def _docker(name: str) -> bytes:
    auth = _base64(_filled(name, "ada:<20>").encode())
    return json.dumps({"auths": {"https://index.docker.io/v1/": {"auth": auth}}}, indent="\t").encode()


def _terraform(name: str) -> bytes:
    values = {"id": "db", "username": "ada", "password": _filled(name, "<12>")}
    secret = [[{"type": "get_attr", "value": "password"}]]
    instance = {"schema_version": 2, "attributes": values, "sensitive_attributes": secret}
    state = {"version": 4, "terraform_version": "1.9.0", "serial": 3, "resources": [{"instances": [instance]}]}
    return json.dumps(state, indent=2).encode()


def _random(name: str, size: int) -> bytes:
    return random.Random(name).randbytes(size)


def _java_keystore(name: str) -> bytes:
    entry = b"\0\0\0\1" + b"\0\5alias" + _random(name, 8) + b"\0\0\2\0" + _random(name, 512)
    return b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1" + entry


def _pkcs12(name: str) -> bytes:
    data = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x82\x05\x00\x04\x82\x04\xfc" + _random(name, 1276)
    content = b"\x02\x01\x03\x30\x82" + len(data).to_bytes(2, "big") + data
    return b"\x30\x82" + len(content).to_bytes(2, "big") + content


def _keepass(name: str) -> bytes:
    return b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5\1\0\4\0" + _random(name, 400)


def _env(name: str) -> bytes:
    return _filled(name, "DEBUG=0\nGITHUB_TOKEN=gh|p_<36>\n").encode()


def _zip(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "x" * 100)
        archive.writestr("conf/.env", _env(name))
    return file.getvalue()


def _tar(name: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo("conf/.env")
        member.size = len(_env(name))
        archive.addfile(member, io.BytesIO(_env(name)))
    return file.getvalue()


def _der(name: str) -> bytes:
    algorithm = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00"
    key = b"\x30\x82\x04\xa3\x02\x01\x00\x02\x82\x01\x01\x00" + _random(name, 1179)
    content = b"\x02\x01\x00" + algorithm + b"\x04\x82\x04\xa7" + key
    return b"\x30\x82" + len(content).to_bytes(2, "big") + content


_FILES: dict[str, Callable[[str], bytes]] = {
    "private key: rsa": lambda _name: private_key().encode(),
    "private key: openssh": lambda _name: private_key("OPENSSH ").encode(),
    "private key: pkcs8": lambda _name: private_key("").encode(),
    "private key: pgp": lambda _name: private_key("PGP ").replace("KEY-----", "KEY BLOCK-----").encode(),
    "private key: der": _der,
    "private key: putty": lambda _name: ("PuTTY-User-" + "Key-File-3: ssh-ed25519\nEncryption: none\n").encode(),
    "private key: base64": lambda _name: f"TLS_KEY={_base64(private_key('').encode())}\n".encode(),
    "google: service account": _service_account,
    "kubernetes: kubeconfig": _kubeconfig,
    "kubernetes: secret": _kubernetes_secret,
    "discord: bot": _discord,
    "docker: config": _docker,
    "terraform: state": _terraform,
    "keystore: java": _java_keystore,
    "keystore: pkcs12": _pkcs12,
    "keystore: keepass": _keepass,
    "encoding: utf-16": lambda name: _env(name).decode().encode("utf-16"),
    "encoding: utf-16 big-endian": lambda name: b"\xfe\xff" + _env(name).decode().encode("utf-16-be"),
    "encoding: utf-16 without mark": lambda name: _env(name).decode().encode("utf-16-le"),
    "archive: zip": _zip,
    "archive: tar.gz": _tar,
    "archive: gz": lambda name: gzip.compress(_env(name), mtime=0),
}
