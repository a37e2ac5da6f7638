#!/usr/bin/env python3
"""Makes made.txt: lines as agents and their tools write them, with secrets of every detector at known places, and
look-alikes. Always the same ones. Labels are as in hand.txt: RULE, tab, text; what has to go stands in ⟦ and ⟧;
a rule of "-" means that nothing may go, one of "!RULE" as well, though it looks like RULE; ␤ is a newline."""
import base64
import random
import zlib

R = random.Random(20260101)
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
ALNUM = UPPER + LOWER + DIGITS
HEX = DIGITS + "abcdef"
URL = ALNUM + "_-"
B64 = ALNUM + "+/"
BASE58 = "".join(c for c in ALNUM if c not in "0OIl")


def some(alphabet, length, end=ALNUM):
    """The last character is one that cannot be taken for punctuation."""
    return "".join(R.choice(alphabet) for _ in range(length - 1)) + R.choice([c for c in alphabet if c in end])


def crc_token():
    body = some(ALNUM, 30)
    value, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        digits = (DIGITS + UPPER + LOWER)[digit] + digits
    return body + digits


def bech32(prefix, length):
    alphabet, values = "qpzry9x8gf2tvdw0s3jn54khce6mua7l", [R.randrange(32) for _ in range(length)]

    def checksum(values):
        total = 1
        for value in values:
            top, total = total >> 25, (total & 0x1FFFFFF) << 5 ^ value
            for i, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                total ^= generator if top >> i & 1 else 0
        return total

    head = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    rest = checksum(head + values + [0] * 6) ^ 1
    return prefix + "1" + "".join(alphabet[v] for v in values + [rest >> 5 * (5 - i) & 31 for i in range(6)])


def card():
    digits = "4" + some(DIGITS, 14)
    doubled = sum((2 * int(d) - 9 * (int(d) > 4)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(digits)))
    return digits + str(-doubled % 10)


def b64(text):
    return base64.b64encode(text.encode()).decode()


def url_b64(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt():
    return ".".join([url_b64('{"alg":"HS256","typ":"JWT"}'),
                     url_b64('{"sub":"%d","iat":%d}' % (R.randrange(10**9), R.randrange(10**9))), some(URL, 43)])


def pem(kind):
    body = "␤".join(some(B64, 64) for _ in range(12))
    return f"-----BEGIN {kind}PRIVATE KEY-----␤{body}␤-----END {kind}PRIVATE KEY-----"


# A token that says by itself what it is.
TOKENS = {
    "aws-access-key-id": lambda: R.choice(["AKIA", "ASIA"]) + some(UPPER + "234567", 16),
    "gcp-api-key": lambda: "AIza" + some(URL, 35),
    "gcp-client-secret": lambda: "GOCSPX-" + some(URL, 28),
    "gcp-access-token": lambda: "ya29." + some(URL, 120),
    "gcp-refresh-token": lambda: "1//0" + some(URL, 60),
    "azure-client-secret": lambda: some(ALNUM, 3) + "8Q~" + some(ALNUM + "_.", 34),
    "azure-devops-pat": lambda: some(ALNUM, 76) + "AZDO" + some(ALNUM, 4),
    "digitalocean-token": lambda: "dop_v1_" + some(HEX, 64),
    "alibaba-key-id": lambda: "LTAI" + some(ALNUM, 20),
    "tencent-secret-id": lambda: "AKID" + some(ALNUM, 32),
    "heroku-token": lambda: "HRKU-" + some(URL, 58),
    "fly-token": lambda: "fm2_" + some(B64, 200),
    "netlify-token": lambda: "nfp_" + some(ALNUM, 36),
    "supabase-token": lambda: "sbp_" + some(HEX, 40),
    "planetscale-token": lambda: "pscale_tkn_" + some(URL, 43),
    "databricks-token": lambda: "dapi" + some(HEX, 32),
    "doppler-token": lambda: "dp.pt." + some(ALNUM, 43),
    "vault-token": lambda: "hvs." + some(URL, 92),
    "terraform-token": lambda: some(ALNUM, 14) + ".atlasv1." + some(URL, 67),
    "pulumi-token": lambda: "pul-" + some(HEX, 40),
    "tailscale-key": lambda: "tskey-auth-" + some(ALNUM, 16) + "-" + some(ALNUM, 32),
    "cloudflare-origin-key": lambda: "v1.0-" + some(HEX, 24) + "-" + some(HEX, 146),
    "dynatrace-token": lambda: "dt0c01." + some(UPPER + DIGITS, 24) + "." + some(UPPER + DIGITS, 64),
    "newrelic-key": lambda: "NRAK-" + some(UPPER + DIGITS, 27),
    "grafana-token": lambda: "glsa_" + some(ALNUM, 32) + "_" + some(HEX, 8),
    "sentry-token": lambda: "sntryu_" + some(HEX, 64),
    "aws-bedrock-key": lambda: "ABSK" + some(B64, 128),
    "aws-mws-token": lambda: "amzn.mws." + uuid(),
    "azure-registry-key": lambda: some(B64, 42) + "+ACR" + R.choice("ABCD") + some(B64, 5),
    "azure-function-key": lambda: some(URL, 44) + "AzFu" + some(URL, 5) + "A==",
    "azure-search-key": lambda: some(ALNUM, 42) + "AzSeB" + some(ALNUM, 5),
    "azure-cosmos-key": lambda: some(B64, 76) + "ACDb" + some(B64, 6) + "==",
    "azure-bus-key": lambda: some(B64, 33) + "+ASbC" + some(B64, 5) + "=",
    "yandex-key": lambda: "AQVN" + some(URL, 36),
    "render-key": lambda: "rnd_" + some(ALNUM, 32),
    "neon-key": lambda: "napi_" + some(LOWER + DIGITS, 64),
    "honeycomb-key": lambda: "hcaik_" + some(LOWER + DIGITS, 58),
    "opsgenie-key": lambda: "GenieKey ⟦" + uuid() + "⟧",
    "rancher-token": lambda: "token-" + some(LOWER + DIGITS, 5) + ":⟦" + some(LOWER + DIGITS, 54) + "⟧",
    "openshift-token": lambda: "sha256~⟦" + some(URL, 43) + "⟧",
    "onepassword-token": lambda: "ops_eyJ" + some(URL, 400),
    "onepassword-secret-key": lambda: "A3-" + "-".join(some(UPPER + DIGITS, n) for n in (6, 6, 5, 5, 5, 5)),
    "akamai-token": lambda: "akab-" + some(LOWER + DIGITS, 16) + "-" + some(LOWER + DIGITS, 16),
    "confluent-secret": lambda: "cflt" + some(B64, 60),
    "mongodb-atlas-secret": lambda: "mdb_sa_sk_" + some(URL, 40),
    "elastic-key": lambda: "essu_" + some(B64, 62),
    "mapbox-token": lambda: "sk.eyJ1" + some(URL, 90) + "." + some(URL, 22),
    "contentful-token": lambda: "CFPAT-" + some(URL, 43),
    "launchdarkly-key": lambda: "sdk-" + uuid(),
    "posthog-key": lambda: "phx_" + some(ALNUM, 47),
    "gitlab-registration-token": lambda: "GR1348941⟦" + some(URL, 20) + "⟧",
    "sourcegraph-token": lambda: "sgp_" + some(HEX, 16) + "_" + some(HEX, 40),
    "teamcity-token": lambda: "eyJ0eXAiOiAiVENWMiJ9." + some(URL, 36) + "." + some(URL, 48),
    "octopus-key": lambda: "API-" + some(UPPER + DIGITS, 30),
    "harness-token": lambda: "pat." + some(URL, 22) + "." + some(HEX, 24) + "." + some(ALNUM, 20),
    "prefect-token": lambda: "pnu_" + some(ALNUM, 36),
    "readme-key": lambda: "rdme_" + some(LOWER + DIGITS, 70),
    "typeform-token": lambda: "tfp_" + some(ALNUM, 59),
    "hubspot-token": lambda: "pat-na1-" + uuid(),
    "clickup-token": lambda: "pk_" + some(DIGITS, 8) + "_" + some(UPPER + DIGITS, 32),
    "dropbox-token": lambda: "sl.u." + some(URL, 135),
    "jfrog-token": lambda: "cmVmdGtu" + some(ALNUM, 56),
    "clojars-token": lambda: "CLOJARS_" + some(HEX, 60),
    "packagist-token": lambda: "packagist_uut_" + some(HEX, 68),
    "swarm-token": lambda: "SWMTKN-1-" + some(LOWER + DIGITS, 50) + "-" + some(LOWER + DIGITS, 25),
    "resend-key": lambda: "re_" + some(ALNUM, 8) + "_" + some(ALNUM, 24),
    "facebook-token": lambda: "EAAC" + some(ALNUM, 180),
    "linkedin-secret": lambda: "WPL_AP1." + some(ALNUM, 16) + "." + some(ALNUM, 6) + "==",
    "zapier-webhook": lambda: "https://hooks.zapier.com/hooks/catch/" + some(DIGITS, 7) + "/⟦" + some(LOWER + DIGITS, 7) + "⟧",
    "lark-webhook": lambda: "https://open.larksuite.com/open-apis/bot/v2/hook/⟦" + uuid() + "⟧",
    "plaid-token": lambda: "access-production-" + uuid(),
    "mollie-key": lambda: "live_" + some(ALNUM, 30),
    "flutterwave-key": lambda: "FLWSECK-" + some(HEX, 32) + "-X",
    "easypost-key": lambda: "EZAK" + some(ALNUM, 54),
    "duffel-token": lambda: "duffel_live_" + some(URL, 43),
    "shippo-token": lambda: "shippo_live_" + some(HEX, 40),
    "nvidia-key": lambda: "nvapi-" + some(URL, 64),
    "langsmith-key": lambda: "lsv2_pt_" + some(HEX, 32) + "_" + some(HEX, 10),
    "langfuse-key": lambda: "sk-lf-" + uuid(),
    "cerebras-key": lambda: "csk-" + some(LOWER + DIGITS, 48),
    "together-key": lambda: "tgp_v1_" + some(URL, 43),
    "tavily-key": lambda: "tvly-dev-" + some(ALNUM, 32),
    "firecrawl-key": lambda: "fc-" + some(HEX, 32),
    "pinecone-key": lambda: "pcsk_" + some(ALNUM, 6) + "_" + some(ALNUM, 63),
    "jina-key": lambda: "jina_" + some(HEX, 32) + some(URL, 28),
    "elevenlabs-key": lambda: "sk_" + some(HEX, 48),
    "e2b-key": lambda: "e2b_" + some(HEX, 40),
    "runpod-key": lambda: "rpa_" + some(UPPER + DIGITS, 42),
    "gateway-key": lambda: "vck_" + some(ALNUM, 56),
    "github-token": lambda: R.choice(["ghp_", "gho_", "ghs_", "ghu_"]) + "⟦" + crc_token() + "⟧",
    "github-fine-grained-token": lambda: "github_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59),
    "gitlab-token": lambda: "glpat-" + some(ALNUM, 20),
    "bitbucket-password": lambda: "ATBB" + some(ALNUM, 32),
    "atlassian-token": lambda: "ATATT3" + some(URL, 186),
    "circleci-token": lambda: "CCIPAT_" + some(ALNUM, 22) + "_" + some(HEX, 40),
    "buildkite-token": lambda: "bkua_" + some(LOWER + DIGITS, 40),
    "sonar-token": lambda: "squ_" + some(HEX, 40),
    "postman-key": lambda: "PMAK-" + some(HEX, 24) + "-" + some(HEX, 34),
    "figma-token": lambda: "figd_" + some(URL, 40),
    "linear-key": lambda: "lin_api_" + some(ALNUM, 40),
    "notion-token": lambda: "ntn_" + some(ALNUM, 46),
    "npm-token": lambda: "npm_⟦" + crc_token() + "⟧",
    "pypi-token": lambda: "pypi-AgEIcHlwaS5vcmc" + some(URL, 130),
    "rubygems-key": lambda: "rubygems_" + some(HEX, 48),
    "crates-token": lambda: "cio" + some(ALNUM, 32),
    "nuget-key": lambda: "oy2" + some(LOWER + DIGITS, 43),
    "docker-token": lambda: "dckr_pat_" + some(URL, 27),
    "artifactory-key": lambda: "AKCp" + some(ALNUM, 69),
    "slack-token": lambda: f"xoxb-{R.randrange(10**11, 10**12)}-{R.randrange(10**11, 10**12)}-" + some(ALNUM, 24),
    "slack-webhook": lambda: "https://hooks.slack.com/services/⟦T" + some(UPPER + DIGITS, 8) + "/B"
                     + some(UPPER + DIGITS, 10) + "/" + some(ALNUM, 24) + "⟧",
    "discord-webhook": lambda: f"https://discord.com/api/webhooks/{R.randrange(10**17, 10**18)}/⟦{some(URL, 68)}⟧",
    "telegram-token": lambda: f"{R.randrange(10**8, 10**10)}⟦:AA{some(URL, 33)}⟧",
    "teams-webhook": lambda: "https://acme.webhook.office.com/webhookb2/⟦" + some(HEX, 36) + "@" + some(HEX, 36)
                     + "/IncomingWebhook/" + some(HEX, 32) + "⟧",
    "sendgrid-key": lambda: "SG." + some(URL, 22) + "." + some(URL, 43),
    "mailgun-key": lambda: "key-" + some(HEX, 32),
    "mailchimp-key": lambda: some(HEX, 32) + "-us12",
    "brevo-key": lambda: "xkeysib-" + some(HEX, 64) + "-" + some(ALNUM, 16),
    "stripe-key": lambda: R.choice(["sk_live_", "rk_live_", "sk_test_"]) + some(ALNUM, 24),
    "webhook-secret": lambda: "whsec_" + some(ALNUM, 32),
    "square-secret": lambda: "sq0csp-" + some(URL, 43),
    "braintree-token": lambda: "access_token$production$" + some(LOWER + DIGITS, 16) + "$" + some(HEX, 32),
    "shopify-token": lambda: "shpat_" + some(HEX, 32),
    "openai-key": lambda: "sk-proj-" + some(URL, 64),
    "sk-key": lambda: "sk-" + some(ALNUM, 48),
    "anthropic-key": lambda: "sk-ant-api03-" + some(URL, 95),
    "openrouter-key": lambda: "sk-or-v1-" + some(HEX, 64),
    "huggingface-token": lambda: "hf_" + some(ALNUM, 34),
    "replicate-token": lambda: "r8_" + some(ALNUM, 37),
    "groq-key": lambda: "gsk_" + some(ALNUM, 52),
    "xai-key": lambda: "xai-" + some(ALNUM, 80),
    "perplexity-key": lambda: "pplx-" + some(ALNUM, 48),
    "private-key": lambda: pem(R.choice(["", "RSA ", "EC ", "OPENSSH "])),
    "age-key": lambda: bech32("age-secret-key-", 52).upper(),
    "nostr-key": lambda: bech32("nsec", 52),
    "bip32-key": lambda: "xprv" + some(BASE58, 107),
    "putty-key": lambda: "Private-Lines: 4␤⟦" + "␤".join(some(B64, 64) for _ in range(4)) + "⟧␤Private-MAC: x",
    "jwk": lambda: '{"kty":"EC","d":"⟦' + some(URL, 43) + '⟧","crv":"P-256"}',
    "django-key": lambda: "django-insecure-⟦" + some(LOWER + DIGITS + "!@#%^*(-_=+", 50) + "⟧",
    "otp-secret": lambda: "otpauth://totp/acme:me?secret=⟦" + some(UPPER + "234567", 32) + "⟧&issuer=acme",
    "jwt": jwt,
    "password-hash": lambda: "$6$" + some(ALNUM, 16) + "$" + some(ALNUM + "./", 86),
}

# Half of such a token still looks like one.
OPEN_ENDED = {"private-key", "slack-webhook", "discord-webhook", "teams-webhook", "jwt", "gcp-access-token",
              "fly-token", "vault-token", "pypi-token", "slack-token", "password-hash", "onepassword-token", "facebook-token",
              "putty-key", "jwk", "otp-secret", "rancher-token", "lark-webhook", "dropbox-token", "aws-bedrock-key", "elastic-key", "django-key"}

# What tells these stands in their middle or at their end.
MARKED_WITHIN = {"azure-devops-pat", "azure-registry-key", "azure-function-key", "azure-search-key", "azure-cosmos-key",
                 "azure-bus-key", "mailchimp-key"}

# Around a token.
PLACES = [
    "{}", "export DEPLOY_VALUE={}", '  "value": "{}",', "value: {}", "using {} for the upload",
    "2026-01-02T03:04:05Z INFO client configured with '{}'", "+ deploy --with {} --region eu-west-1",
    "os.environ['VALUE'] = '{}'", "<td>{}</td>", "https://host.example.org/path?x={}&y=1",
]

# Where the place says it: text with the secret in ⟦⟧.
FIELDS = {
    "aws-secret-key": [lambda: "aws_secret_access_key = ⟦" + some(B64, 40) + "⟧",
                       lambda: '"SecretAccessKey": "⟦' + some(B64, 40) + '⟧",',
                       lambda: "export AWS_SECRET_ACCESS_KEY=⟦" + some(B64, 40) + "⟧"],
    "aws-session-token": [lambda: "export AWS_SESSION_TOKEN=⟦" + some(B64, 300) + "⟧",
                          lambda: '"SessionToken": "⟦' + some(B64, 300) + '⟧"'],
    "azure-storage-key": [lambda: "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=⟦" + some(B64, 86)
                          + "==⟧;EndpointSuffix=core.windows.net"],
    "azure-sas": [lambda: "https://acme.blob.core.windows.net/c/b?sv=2022-11-02&se=2026-01-01&sr=b&sig=⟦"
                  + some(ALNUM, 43) + "%3D⟧"],
    "registry-auth": [lambda: '"auth": "⟦' + b64("deploy:" + some(ALNUM, 16)) + '⟧"',
                      lambda: "//registry.example.org/:_auth=⟦" + b64("ci:" + some(ALNUM, 20)) + "⟧"],
    "registry-token": [lambda: "//registry.example.org/:_authToken=⟦" + some(ALNUM, 36) + "⟧"],
    "wireguard-key": [lambda: "PrivateKey = ⟦" + some(B64, 43) + "=⟧", lambda: "PresharedKey=⟦" + some(B64, 43) + "=⟧"],
    "kubeconfig-key": [lambda: "    client-key-data: ⟦" + some(B64, 400) + "⟧"],
    "url-password": [lambda: "postgres://app:⟦" + some(ALNUM, 14) + "⟧@db.internal:5432/app",
                     lambda: "DATABASE_URL=mysql://root:⟦" + some(ALNUM + "!%.", 12) + "⟧@127.0.0.1/shop",
                     lambda: "redis://:⟦" + some(ALNUM, 20) + "⟧@cache:6379/0",
                     lambda: "git clone https://bot:⟦" + some(ALNUM, 20) + "⟧@git.example.org/a/b.git"],
    "url-token": [lambda: "git clone https://⟦" + some(ALNUM, 40) + "⟧@git.example.org/a/b.git"],
    "url-query": [lambda: "GET /v1/items?page=2&key=⟦" + some(ALNUM, 32) + "⟧ HTTP/1.1",
                  lambda: "https://api.example.org/cb?code=⟦" + some(URL, 40) + "⟧&state=ok",
                  lambda: "https://cdn.example.org/f?Expires=1700000000&Signature=⟦" + some(ALNUM, 64) + "⟧"],
    "authorization": [lambda: "Authorization: Bearer ⟦" + some(URL, 40) + "⟧",
                      lambda: "curl -H 'Authorization: token ⟦" + some(ALNUM, 40) + "⟧' https://api.example.org",
                      lambda: '"authorization": "⟦' + some(ALNUM, 24) + '⟧",'],
    "bearer-token": [lambda: "sending bearer ⟦" + some(URL, 40) + "⟧ to upstream"],
    "basic-auth": [lambda: "> basic ⟦" + b64("admin:" + some(ALNUM, 12)) + "⟧"],
    "cookie": [lambda: "Cookie: ⟦sid=" + some(ALNUM, 32) + "; theme=dark⟧",
               lambda: "< Set-Cookie: ⟦auth=" + some(URL, 40) + "; Path=/; HttpOnly⟧"],
    "session-cookie": [lambda: "PHPSESSID=⟦" + some(LOWER + DIGITS, 26) + "⟧;",
                       lambda: '"sessionid": "⟦' + some(LOWER + DIGITS, 32) + '⟧"'],
    "api-key-header": [lambda: "X-Api-Key: ⟦" + some(ALNUM, 32) + "⟧",
                       lambda: "PRIVATE-TOKEN: ⟦" + some(ALNUM, 20) + "⟧",
                       lambda: "headers={'X-Auth-Token': '⟦" + some(ALNUM, 24) + "⟧'}"],
    "option": [lambda: "+ tool login --username ci --password ⟦" + some(ALNUM, 14) + "⟧",
               lambda: "deploy --token=⟦" + some(ALNUM, 32) + "⟧ --env prod",
               lambda: "tool --api-key '⟦" + some(ALNUM, 32) + "⟧' list"],
    "curl-user": [lambda: "curl -s -u admin:⟦" + some(ALNUM, 12) + "⟧ https://example.org/",
                  lambda: "curl --user 'ci:⟦" + some(ALNUM + "!#", 16) + "⟧' -O https://example.org/x"],
    "client-password": [lambda: "mysql -h db -u root -p⟦" + some(ALNUM, 12) + "⟧ shop",
                        lambda: "sshpass -p ⟦" + some(ALNUM, 12) + "⟧ ssh root@host",
                        lambda: "redis-cli -h cache -a ⟦" + some(ALNUM, 16) + "⟧ ping"],
    "git-credential": [lambda: "protocol=https␤host=git.example.org␤username=me␤password=⟦" + some(ALNUM, 7) + "⟧␤",
                       lambda: "host=git.example.org␤password=⟦" + some(ALNUM, 16) + "⟧␤"],
    "server-password": [lambda: "requirepass ⟦" + some(ALNUM, 14) + "⟧"],
    "pgpass": [lambda: "db.example.org:5432:shop:app:⟦" + some(ALNUM, 12) + "⟧"],
    "oracle-url": [lambda: "jdbc:oracle:thin:scott/⟦" + some(ALNUM, 10) + "⟧@db:1521/orcl"],
    "card-number": [lambda: '"card_number": "⟦' + card() + '⟧"', lambda: "cardNumber=⟦" + card() + "⟧"],
    "ibm-cloud-key": [lambda: "export IBMCLOUD_API_KEY=⟦" + some(URL, 44) + "⟧"],
    "scaleway-secret": [lambda: "SCW_SECRET_KEY=⟦" + uuid() + "⟧"],
    "hetzner-token": [lambda: "HCLOUD_TOKEN=⟦" + some(ALNUM, 64) + "⟧"],
    "linode-token": [lambda: "LINODE_TOKEN: ⟦" + some(HEX, 64) + "⟧"],
    "cloudflare-token": [lambda: "CLOUDFLARE_API_TOKEN=⟦" + some(URL, 40) + "⟧"],
    "cloudflare-global-key": [lambda: "CF_API_KEY=⟦" + some(HEX, 37) + "⟧", lambda: "X-Auth-Key: ⟦" + some(HEX, 37) + "⟧"],
    "fastly-token": [lambda: "Fastly-Key: ⟦" + some(URL, 32) + "⟧"],
    "vercel-token": [lambda: 'VERCEL_TOKEN="⟦' + some(ALNUM, 24) + '⟧"'],
    "datadog-key": [lambda: "DD_API_KEY=⟦" + some(HEX, 32) + "⟧", lambda: "DD-APPLICATION-KEY: ⟦" + some(HEX, 40) + "⟧"],
    "consul-token": [lambda: "CONSUL_HTTP_TOKEN=⟦" + uuid() + "⟧", lambda: "X-Nomad-Token: ⟦" + uuid() + "⟧"],
    "kubeadm-token": [lambda: "kubeadm join 10.0.0.1:6443 --token ⟦" + some(LOWER + DIGITS, 6) + "." + some(LOWER + DIGITS, 16)
                      + "⟧ --discovery-token-ca-cert-hash sha256:" + some(HEX, 64)],
    "bitwarden-token": [lambda: "BWS_ACCESS_TOKEN=⟦0." + uuid() + "." + some(ALNUM, 30) + ":" + some(B64, 22) + "==⟧"],
    "gitea-token": [lambda: "GITEA_TOKEN=⟦" + some(HEX, 40) + "⟧"],
    "jenkins-token": [lambda: "JENKINS_API_TOKEN=⟦11" + some(HEX, 32) + "⟧"],
    "codecov-token": [lambda: "CODECOV_TOKEN=⟦" + uuid() + "⟧"],
    "snyk-token": [lambda: "SNYK_TOKEN: ⟦" + uuid() + "⟧"],
    "hexpm-key": [lambda: "HEX_API_KEY=⟦" + some(HEX, 32) + "⟧"],
    "twilio-token": [lambda: "TWILIO_AUTH_TOKEN=⟦" + some(HEX, 32) + "⟧"],
    "postmark-token": [lambda: "X-Postmark-Server-Token: ⟦" + uuid() + "⟧"],
    "discord-bot-token": [lambda: "DISCORD_TOKEN=⟦M" + some(ALNUM, 25) + "." + some(ALNUM, 6) + "." + some(URL, 38) + "⟧"],
    "slack-signing-secret": [lambda: "SLACK_SIGNING_SECRET=⟦" + some(HEX, 32) + "⟧"],
    "wandb-key": [lambda: "WANDB_API_KEY=⟦" + some(HEX, 40) + "⟧"],
    "laravel-key": [lambda: "APP_KEY=⟦base64:" + some(B64, 43) + "=⟧"],
    "machine-key": [lambda: '<machineKey validationKey="⟦' + some(UPPER[:6] + DIGITS, 128) + '⟧" />'],
    "netrc": [lambda: "machine api.example.org login ci password ⟦" + some(ALNUM, 20) + "⟧",
              lambda: "machine example.org␤  login me␤  password ⟦" + some(ALNUM, 12) + "⟧"],
    "password": [lambda: "DB_PASSWORD=⟦" + some(ALNUM, 14) + "⟧", lambda: 'password: "⟦' + some(ALNUM + "!@#%", 16) + '⟧"',
                 lambda: '"adminPassword": "⟦' + some(ALNUM, 12) + '⟧",', lambda: "PGPASSWORD=⟦" + some(ALNUM, 18) + "⟧ psql",
                 lambda: "$db_pass = '⟦" + some(ALNUM, 12) + "⟧';", lambda: "password=⟦" + some(LOWER, 14) + "⟧",
                 lambda: "Server=db;User Id=sa;Pwd=⟦" + some(ALNUM, 16) + "⟧;"],
    "secret": [lambda: "API_KEY=⟦" + some(ALNUM, 32) + "⟧", lambda: "client_secret: ⟦" + some(URL, 40) + "⟧",
               lambda: '"apiKey": "⟦' + some(ALNUM, 24) + '⟧"', lambda: "const token = '⟦" + some(HEX, 40) + "⟧';",
               lambda: "SECRET_KEY_BASE=⟦" + some(HEX, 128) + "⟧", lambda: "access_token=⟦" + some(ALNUM, 40) + "⟧",
               lambda: '{\\"accessToken\\":\\"⟦' + some(ALNUM, 40) + '⟧\\"}'],
    "high-entropy": [lambda: "your new token is ⟦" + some(ALNUM, 40) + "⟧",
                     lambda: "the api key is `⟦" + some(ALNUM, 36) + "⟧`"],
}


# What looks like a field of that rule and is none.
FIELD_LOOK_ALIKES = {
    "aws-secret-key": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws-session-token": "export AWS_SESSION_TOKEN=$(get-session --json)",
    "azure-storage-key": "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;",
    "azure-sas": "https://acme.blob.core.windows.net/c/b?sv=2022-11-02&sig=REPLACE",
    "registry-auth": '"auth": "c29tZSB0ZXh0IHdpdGhvdXQ="', "registry-token": "//registry.example.org/:_authToken=${NPM_TOKEN}",
    "wireguard-key": "PrivateKey = <your private key>", "kubeconfig-key": "    client-key-data: REDACTED",
    "url-password": "postgres://app:${DB_PASSWORD}@db/app", "url-token": "git clone https://someone@git.example.org/a/b.git",
    "url-query": "GET /v1/items?sort_key=created_at_desc HTTP/1.1", "authorization": "Authorization: Bearer $TOKEN",
    "bearer-token": "Bearer authentication is required for this request", "basic-auth": "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "cookie": "Cookie: none", "session-cookie": "JSESSIONID=<session id of the user>", "api-key-header": "x-api-key: $API_KEY",
    "option": "tool --token $TOKEN list", "curl-user": "curl -u $USER:$PASS https://x", "client-password": "mysql -h db -u root -p shop",
    "git-credential": "protocol=https␤host=git.example.org␤password=${GIT_PASSWORD}␤", "pgpass": "db.example.org:5432:shop:app:$PGPASSWORD",
    "lark-webhook": "https://open.larksuite.com/open-apis/bot/v2/hook/your-hook-id", "rancher-token": "token-4xy4v:short", "server-password": "requirepass ${REDIS_PASSWORD}", "oracle-url": "jdbc:oracle:thin:scott/${password}@db:1521/orcl", "card-number": '"card_number": "4111111111111111"',
    "ibm-cloud-key": "export IBMCLOUD_API_KEY=$(cat key)", "scaleway-secret": "SCW_SECRET_KEY=your-secret-key-here",
    "hetzner-token": "HCLOUD_TOKEN=${{ secrets.HCLOUD_TOKEN }}", "linode-token": "LINODE_TOKEN: ${LINODE_TOKEN}",
    "cloudflare-token": "CLOUDFLARE_API_TOKEN=<API_TOKEN>", "cloudflare-global-key": "CF_API_KEY=${CF_API_KEY}",
    "fastly-token": "Fastly-Key: $FASTLY_KEY", "vercel-token": "VERCEL_TOKEN=${{ secrets.VERCEL_TOKEN }}",
    "datadog-key": "DD_API_KEY=<DATADOG_API_KEY>", "consul-token": "CONSUL_HTTP_TOKEN=$(vault read token)",
    "kubeadm-token": "kubeadm join 10.0.0.1:6443 --token <token> --discovery-token-ca-cert-hash sha256:<hash>",
    "bitwarden-token": "BWS_ACCESS_TOKEN=${{ secrets.BWS_ACCESS_TOKEN }}", "gitea-token": "GITEA_TOKEN=your_gitea_token",
    "jenkins-token": "JENKINS_API_TOKEN=$JENKINS_API_TOKEN", "codecov-token": "CODECOV_TOKEN=${CODECOV_TOKEN}",
    "snyk-token": "SNYK_TOKEN: ${{ secrets.SNYK_TOKEN }}", "hexpm-key": "HEX_API_KEY=${HEX_API_KEY}",
    "twilio-token": "TWILIO_AUTH_TOKEN=your_auth_token", "postmark-token": "X-Postmark-Server-Token: server token",
    "discord-bot-token": "DISCORD_TOKEN=MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    "slack-signing-secret": "SLACK_SIGNING_SECRET=${SLACK_SIGNING_SECRET}", "wandb-key": "WANDB_API_KEY=<your-api-key>",
    "laravel-key": "APP_KEY=${APP_KEY}", "machine-key": '<machineKey validationKey="AutoGenerate,IsolateApps" />',
    "netrc": "machine api.example.org login ci password $PASSWORD", "password": "password: <your-password-here>",
    "secret": "secretKeyRef: my-app-secrets", "high-entropy": "the api key is documented under getting-started-with-keys",
    "slack-webhook": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "discord-webhook": "POST /api/webhooks/123456789012345678/{token}", "teams-webhook": "https://acme.webhook.office.com/webhookb2/ID",
    "jwt": "eyJub3QiOiJhIGp3dCJ9 is base64 of a small object", "gcp-access-token": "ya29.a0 begins such a token",
    "fly-token": "fm2_ begins such a token", "vault-token": "hvs.short", "pypi-token": "pypi-AgEIcHlwaS5vcmc begins all of them",
    "slack-token": "xoxb-not-a-token", "password-hash": "$6$rounds=5000$", "onepassword-token": "ops_eyJhbGciOi...",
    "facebook-token": "EAACshort", "putty-key": "Private-Lines: 4", "jwk": '{"d": "a short text", "kty": "EC"}',
    "otp-secret": "otpauth://totp/acme:me?secret=JBSWY3DPEHPK3PXP&issuer=acme", "dropbox-token": "sl.u.short",
    "aws-bedrock-key": "ABSKshort", "elastic-key": "essu_short", "django-key": "django-insecure-",
    "private-key": 'if text.startswith("-----BEGIN PRIVATE KEY-----"): raise',
}


def label(token):
    return token if "⟦" in token else f"⟦{token}⟧"


def uuid():
    return "-".join(some(HEX, n) for n in (8, 4, 4, 4, 12))


# What looks like a secret and is none.
LOOK_ALIKES = [
    lambda: f"commit {some(HEX, 40)}", lambda: f"sha256:{some(HEX, 64)}  -", lambda: f"{some(HEX, 32)}  archive.tar.gz",
    lambda: f'    "integrity": "sha512-{some(B64, 86)}==",', lambda: f'checksum = "{some(HEX, 64)}"',
    lambda: f"request_id={uuid()} status=200", lambda: f"trace {uuid()} finished in {R.randrange(900)}ms",
    lambda: f"    resolved \"https://registry.yarnpkg.com/x/-/x-1.2.{R.randrange(99)}.tgz#{some(HEX, 40)}\"",
    lambda: "!function(e,t){var n=e." + some(LOWER, 1) + f";return n({R.randrange(999)})}}(window,document);",
    lambda: f"background:url(data:image/png;base64,iVBORw0KGgo{some(B64, 120)})",
    lambda: f"{some(HEX, 7)} fix: token refresh of the parser ({R.randrange(9999)})",
    lambda: f"password reset requested for user {R.randrange(10**6)}", lambda: f"tokens: {R.randrange(10**5)} used",
    lambda: f"max_tokens={R.randrange(10**4, 10**5)}", lambda: f"token_count: {R.randrange(10**8, 10**9)}",
    lambda: "api_key=${API_KEY}", lambda: "password: ${{ secrets.DEPLOY_PASSWORD }}", lambda: 'token = os.environ["TOKEN"]',
    lambda: "const secret = process.env.CLIENT_SECRET;", lambda: "self.password = self.config.get_password()",
    lambda: "password: <your-password-here>", lambda: "API_KEY=your_api_key_goes_here", lambda: 'token: "changeme"',
    lambda: "secretName: db-credentials", lambda: "secretKeyRef: my-app-secrets", lambda: "password_file: /run/secrets/db",
    lambda: "tokenizer = AutoTokenizer.from_pretrained('gpt2')", lambda: "https://user@example.org/path",
    lambda: "ssh://git@example.org:22/a/b.git", lambda: "postgres://app:${DB_PASSWORD}@db/app", lambda: "curl -u $USER:$PASS https://x",
    lambda: f"build-{some(HEX, 12)}.o: {R.randrange(9999)} bytes", lambda: f"  0x{some(HEX, 16)} in main () at main.c:{R.randrange(99)}",
    lambda: f"docker pull x@sha256:{some(HEX, 64)}", lambda: f"ETag: \"{some(HEX, 32)}\"", lambda: "keyboard=monkey=true",
    lambda: f"-rw-r--r-- 1 root root {R.randrange(9999)} Jan  2 03:04 token.json", lambda: "Authorization: Bearer $TOKEN",
    lambda: "password = getpass.getpass('Password: ')", lambda: "if (password == null) return;", lambda: "type: kubernetes.io/service-account-token",
    lambda: "the password combination of the user", lambda: f"csrf_token_expires={R.randrange(10**9, 2 * 10**9)}",
    lambda: f"task-{some(LOWER, 6)}-{some(LOWER + DIGITS, 8)} done", lambda: f"disk-{some(HEX, 8)} mounted",
    lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{some(B64, 43)} me@host", lambda: f"SHA256:{some(B64, 43)} (ED25519)",
    lambda: f"-----BEGIN CERTIFICATE-----␤{some(B64, 64)}␤{some(B64, 64)}␤-----END CERTIFICATE-----",
    lambda: 'grep -r "BEGIN RSA PRIVATE KEY" .', lambda: 'if text.startswith("-----BEGIN PRIVATE KEY-----"): raise',
    lambda: "GET /api/v1/tokens HTTP/1.1", lambda: f"pk_live_{some(ALNUM, 24)}", lambda: "def test_secret_is_not_logged():",
    lambda: "Cookie: none", lambda: "basic usage of the tool", lambda: "Bearer authentication is required for this request",
    lambda: "mkdir -p build/objects", lambda: "mysql -h db -u root -p shop", lambda: "tool login --password-stdin",
    lambda: "tool --token $TOKEN list", lambda: "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    lambda: "AKIAIOSFODNN7EXAMPLE", lambda: "token=[REDACTED:TOKEN:0123abcd]", lambda: "password=****************",
]


def main():
    with open("made.txt", "w", encoding="utf-8") as out:
        for rule, make in TOKENS.items():
            for place in R.sample(PLACES, 6):
                out.write(f"{rule}\t{place.replace('{}', label(make()), 1)}\n")
            # Too short by some, and filled with what people write for "something".
            token = make().replace("⟦", "").replace("⟧", "")
            if rule in MARKED_WITHIN:
                out.write(f"!{rule}\tlook at {token[len(token) // 4:]} here\n")
            elif rule not in OPEN_ENDED:
                out.write(f"!{rule}\tlook at {token[:len(token) // 2]} here\n")
        for rule, makers in FIELDS.items():
            for i in range(6):
                out.write(f"{rule}\t{makers[i % len(makers)]()}\n")
        for rule, text in FIELD_LOOK_ALIKES.items():
            out.write(f"!{rule}\t{text}\n")
        for make in LOOK_ALIKES:
            for _ in range(6):
                out.write(f"-\t{make()}\n")


main()
