/*
 * A row for each detector. Patterns begin with what may not stand before them, so that a run of
 * keywords costs no more than its length, and no repetition is without a limit.
 */
#include "detector.h"

/* Left and right of a token. */
#define L "(?<![A-Za-z0-9])"
#define R "(?![A-Za-z0-9_-])"
/* Between a name and its value, and the value in its quotes or without. */
#define ASSIGN "[\"'\\]]{0,2}[ \\t]{0,8}(?::=|=>|=|:)[ \\t]{0,8}"
#define VALUE(least)                                                                               \
	"(?|\"([^\"\\r\\n]{" least ",400})\"|'([^'\\r\\n]{" least                                  \
	",400})'|\\\\\"([^\"\\\\\\r\\n]{" least                                                    \
	",400})\\\\\"|([^\\s\"'`,;<>(){}\\[\\]\\\\&|]{" least ",400}+)(?![(\\[]))"
/* A name that goes on like this says something about a secret. */
#define NO_META                                                                                    \
	"(?![A-Za-z0-9_.-]{0,20}?(?:type|name|count|_id|url|uri|path|file|dir|len|length|size|"    \
	"limit|expir[a-z_]{0,8}|ttl|field|endpoint|arn|ref|version|policy|hint|label|prefix|"      \
	"usage|"                                                                                   \
	"format|used|budget|izer|s)[\"'\\]]{0,2}[ \\t]{0,8}(?:=>|[:=]))"

/* clang-format off */
const struct detector detectors[] = {
	/* ---- clouds ---- */
	{"aws-access-key-id", "cloud", {"akia", "asia", "abia", "acca"}, L "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}" R, CHECK_VALUE, 28},
	{"aws-secret-key", "cloud", {"secretaccesskey", "secret_access_key", "aws_secret", "secretkey", "secret_key"},
	 "(?i)(?:aws_)?secret_?(?:access_?)?key" ASSIGN "[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", CHECK_VALUE, 38},
	{"aws-session-token", "cloud", {"session_token", "sessiontoken", "security-token", "security_token"},
	 "(?i)(?:session|security)[_-]?token" ASSIGN "[\"']?([A-Za-z0-9/+=]{100,2000})", CHECK_NONE, 35},
	{"gcp-api-key", "cloud", {"aiza"}, L "AIza[0-9A-Za-z_-]{35}" R, CHECK_VALUE, 35},
	{"gcp-client-secret", "cloud", {"gocspx-"}, L "GOCSPX-[A-Za-z0-9_-]{28}" R, CHECK_NONE, 30},
	{"gcp-access-token", "cloud", {"ya29."}, L "ya29\\.[0-9A-Za-z_-]{20,1024}", CHECK_NONE, 30},
	{"gcp-refresh-token", "cloud", {"1//0"}, L "1//0[0-9A-Za-z_-]{40,256}", CHECK_NONE, 35},
	{"azure-storage-key", "cloud", {"accountkey=", "sharedaccesskey="}, "(?i)(?:account|sharedaccess)key=([A-Za-z0-9+/]{43,86}={1,2})", CHECK_NONE, 35},
	{"azure-client-secret", "cloud", {"q~"}, L "[A-Za-z0-9_~.-]{3}[0-9][Qq]~[A-Za-z0-9_~.-]{31,34}" R, CHECK_NONE, 35, 4},
	{"azure-sas", "cloud", {"sig="}, "(?<=[?&;])sig=([A-Za-z0-9%+/_-]{40,80}(?:%3[dD]|=))", CHECK_NONE, 35},
	{"azure-devops-pat", "cloud", {"azdo"}, L "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" R, CHECK_NONE, 35, 76},
	{"digitalocean-token", "cloud", {"dop_v1_", "doo_v1_", "dor_v1_"}, L "do[por]_v1_[a-f0-9]{64}" R, CHECK_NONE, 28},
	{"alibaba-key-id", "cloud", {"ltai"}, L "LTAI[0-9A-Za-z]{17,21}" R, CHECK_VALUE, 32},
	{"tencent-secret-id", "cloud", {"akid"}, L "AKID[0-9A-Za-z]{32}" R, CHECK_VALUE, 35},
	{"heroku-token", "cloud", {"hrku-"}, L "HRKU-[A-Za-z0-9_-]{36,60}" R, CHECK_NONE, 30},
	{"fly-token", "cloud", {"fm2_", "fm1_", "fm1r_", "fm1a_"}, L "fm[12][ar]?_[A-Za-z0-9+/=_-]{60,2000}", CHECK_NONE, 35},
	{"netlify-token", "cloud", {"nfp_"}, L "nfp_[A-Za-z0-9]{36}" R, CHECK_NONE, 30},
	{"supabase-token", "cloud", {"sbp_", "sb_secret_"}, L "(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60})" R, CHECK_NONE, 28},
	{"planetscale-token", "cloud", {"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, L "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,64}" R, CHECK_NONE, 30},
	{"databricks-token", "cloud", {"dapi"}, L "dapi[a-f0-9]{32}(?:-[0-9])?" R, CHECK_NONE, 28},
	{"doppler-token", "cloud", {"dp.pt.", "dp.st.", "dp.ct.", "dp.scim.", "dp.audit."}, L "dp\\.(?:pt|ct|st|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}" R, CHECK_NONE, 30},
	{"vault-token", "cloud", {"hvs.", "hvb.", "hvr."}, L "hv[sbr]\\.[A-Za-z0-9_-]{24,400}", CHECK_NONE, 30},
	{"terraform-token", "cloud", {".atlasv1."}, L "[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9=_-]{60,80}" R, CHECK_NONE, 35, 14},
	{"pulumi-token", "cloud", {"pul-"}, L "pul-[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"tailscale-key", "cloud", {"tskey-"}, L "tskey-[a-z]{2,16}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16,48}" R, CHECK_NONE, 30},
	{"cloudflare-origin-key", "cloud", {"v1.0-"}, L "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}" R, CHECK_NONE, 28},
	{"dynatrace-token", "cloud", {"dt0c01.", "dt0s01."}, L "dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}" R, CHECK_NONE, 30},
	{"newrelic-key", "cloud", {"nrak-", "nral-"}, L "NRA[KL]-[A-Z0-9]{27}" R, CHECK_NONE, 30},
	{"grafana-token", "cloud", {"glsa_", "glc_"}, L "(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})" R, CHECK_NONE, 30},
	{"sentry-token", "cloud", {"sntrys_", "sntryu_"}, L "sntry(?:u_[a-f0-9]{64}|s_[A-Za-z0-9+/=_-]{60,400})" R, CHECK_NONE, 28},

	/* ---- code and its builds ---- */
	{"github-token", "vcs", {"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, L "gh[pousr]_([A-Za-z0-9]{36})" R, CHECK_CRC32, 38},
	{"github-fine-grained-token", "vcs", {"github_pat_"}, L "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}" R, CHECK_NONE, 35},
	{"gitlab-token", "vcs", {"glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "glimt-"},
	 L "gl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|imt)-[0-9A-Za-z_.-]{20,60}" R, CHECK_VALUE, 30},
	{"bitbucket-password", "vcs", {"atbb"}, L "ATBB[A-Za-z0-9]{32}" R, CHECK_NONE, 32},
	{"atlassian-token", "vcs", {"atatt3"}, L "ATATT3[A-Za-z0-9_=-]{180,240}", CHECK_NONE, 35},
	{"circleci-token", "ci", {"ccipat_", "ccipra_"}, L "CCIP(?:AT|RA)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}" R, CHECK_NONE, 30},
	{"buildkite-token", "ci", {"bkua_", "bkct_"}, L "bk(?:ua|ct)_[a-z0-9]{40}" R, CHECK_NONE, 30},
	{"sonar-token", "ci", {"sqp_", "squ_", "sqa_"}, L "sq[pua]_[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"postman-key", "ci", {"pmak-"}, L "PMAK-[a-f0-9]{24}-[a-f0-9]{34}" R, CHECK_NONE, 28},
	{"figma-token", "ci", {"figd_"}, L "figd_[A-Za-z0-9_-]{40}" R, CHECK_NONE, 30},
	{"linear-key", "ci", {"lin_api_", "lin_oauth_"}, L "lin_(?:api|oauth)_[A-Za-z0-9]{40,64}" R, CHECK_NONE, 30},
	{"notion-token", "ci", {"ntn_"}, L "ntn_[A-Za-z0-9]{46}" R, CHECK_NONE, 30},

	/* ---- package registries ---- */
	{"npm-token", "package", {"npm_"}, L "npm_([A-Za-z0-9]{36})" R, CHECK_CRC32, 38},
	{"pypi-token", "package", {"pypi-age"}, L "pypi-AgE[A-Za-z0-9_-]{50,400}", CHECK_NONE, 35},
	{"rubygems-key", "package", {"rubygems_"}, L "rubygems_[a-f0-9]{48}" R, CHECK_NONE, 28},
	{"crates-token", "package", {"cio"}, L "cio[A-Za-z0-9]{32}" R, CHECK_MIXED, 35},
	{"nuget-key", "package", {"oy2"}, L "oy2[a-z0-9]{43}" R, CHECK_NONE, 32},
	{"docker-token", "package", {"dckr_pat_", "dckr_oat_"}, L "dckr_[po]at_[A-Za-z0-9_-]{27,40}" R, CHECK_NONE, 30},
	{"artifactory-key", "package", {"akcp"}, L "AKCp[A-Za-z0-9]{69,80}" R, CHECK_NONE, 35},
	{"registry-auth", "package", {"\"auth\"", "_auth"}, "(?i)(?:\"auth\"|_auth)[ \\t]{0,4}[:=][ \\t]{0,4}\"?([A-Za-z0-9+/_-]{8,400}={0,2})", CHECK_BASIC, 0},
	{"registry-token", "package", {"_authtoken", "_password"}, "(?i)_(?:authtoken|password)[ \\t]{0,4}=[ \\t]{0,4}\"?([^\\s\"]{8,400})", CHECK_VALUE, 25},

	/* ---- chat and mail ---- */
	{"slack-token", "chat", {"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}, L "(?:xox[bparse][-.][0-9A-Za-z.-]{20,250}|xapp-[0-9]-[A-Za-z0-9-]{20,200})", CHECK_VALUE, 28},
	{"slack-webhook", "chat", {"hooks.slack.com/"}, "hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{40,80})", CHECK_VALUE, 30},
	{"discord-webhook", "chat", {"/api/webhooks/"}, "/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,80})", CHECK_NONE, 35},
	{"telegram-token", "chat", {":aa"}, "(?:(?<=[^0-9][0-9]{8})|(?<=[^0-9][0-9]{9})|(?<=[^0-9][0-9]{10})|(?<=^[0-9]{10})|(?<=^[0-9]{9})):AA[A-Za-z0-9_-]{33}" R, CHECK_NONE, 35},
	{"teams-webhook", "chat", {"webhook.office.com/"}, "webhook\\.office\\.com/webhookb2/([A-Za-z0-9@/-]{80,200})", CHECK_NONE, 30},
	{"sendgrid-key", "chat", {"sg."}, L "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}" R, CHECK_NONE, 38},
	{"mailgun-key", "chat", {"key-"}, L "key-[a-f0-9]{32}" R, CHECK_NONE, 30},
	{"mailchimp-key", "chat", {"-us"}, L "[a-f0-9]{32}-us[0-9]{1,2}" R, CHECK_NONE, 30, 32},
	{"brevo-key", "chat", {"xkeysib-", "xsmtpsib-"}, L "x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}" R, CHECK_NONE, 30},

	/* ---- payment and shops ---- */
	{"stripe-key", "payment", {"sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_"}, L "[sr]k_(?:live|test|prod)_[0-9A-Za-z]{16,250}" R, CHECK_VALUE, 30},
	{"webhook-secret", "payment", {"whsec_"}, L "whsec_[A-Za-z0-9+/=]{24,80}", CHECK_VALUE, 30},
	{"square-secret", "payment", {"sq0csp-", "sq0atp-"}, L "sq0(?:csp|atp)-[A-Za-z0-9_-]{22,43}" R, CHECK_NONE, 30},
	{"braintree-token", "payment", {"access_token$production$"}, "access_token\\$production\\$[a-z0-9]{16}\\$[a-f0-9]{32}", CHECK_NONE, 28},
	{"shopify-token", "payment", {"shpat_", "shpss_", "shppa_", "shpca_"}, L "shp(?:at|ss|pa|ca)_[a-fA-F0-9]{32}" R, CHECK_NONE, 28},

	/* ---- models ---- */
	{"openai-key", "model", {"sk-proj-", "sk-svcacct-", "sk-admin-", "t3blbkfj"}, L "sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}" R, CHECK_NONE, 35},
	{"sk-key", "model", {"sk-"}, L "sk-[A-Za-z0-9]{32,60}" R, CHECK_NONE, 30},
	{"anthropic-key", "model", {"sk-ant-"}, L "sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{60,160}" R, CHECK_NONE, 35},
	{"openrouter-key", "model", {"sk-or-v1-"}, L "sk-or-v1-[a-f0-9]{64}" R, CHECK_NONE, 28},
	{"huggingface-token", "model", {"hf_", "api_org_"}, L "(?:hf_|api_org_)[A-Za-z0-9]{34,40}" R, CHECK_MIXED, 35},
	{"replicate-token", "model", {"r8_"}, L "r8_[A-Za-z0-9]{37}" R, CHECK_NONE, 32},
	{"groq-key", "model", {"gsk_"}, L "gsk_[A-Za-z0-9]{52}" R, CHECK_NONE, 35},
	{"xai-key", "model", {"xai-"}, L "xai-[A-Za-z0-9]{80}" R, CHECK_NONE, 35},
	{"perplexity-key", "model", {"pplx-"}, L "pplx-[A-Za-z0-9]{48}" R, CHECK_NONE, 35},

	/* ---- keys and tokens of no one vendor ---- */
	{"private-key", "key", {"-----begin"}, "-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\\s\\\\:,.-]{16,8000}?(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\\z)", CHECK_NONE, 20},
	{"age-key", "key", {"age-secret-key-1"}, "(?i)AGE-SECRET-KEY-1[A-Z0-9]{58}", CHECK_NONE, 30},
	{"wireguard-key", "key", {"privatekey", "presharedkey"}, "(?i)(?:private|preshared)key[ \\t]{0,8}=[ \\t]{0,8}([A-Za-z0-9+/]{43}=)", CHECK_NONE, 35},
	{"kubeconfig-key", "key", {"client-key-data"}, "client-key-data\"?:[ \\t]{0,8}\"?([A-Za-z0-9+/=]{64,8000})", CHECK_NONE, 30},
	{"jwt", "key", {"eyj"}, "(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\\.eyJ[A-Za-z0-9_-]{8,6000}\\.[A-Za-z0-9_-]{16,1000}", CHECK_VALUE, 35},
	{"password-hash", "key", {"$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"},
	 "\\$(?:(?:1|5|6|y|apr1)\\$[./A-Za-z0-9=$]{2,32}\\$[./A-Za-z0-9]{22,86}|2[aby]\\$[0-9]{2}\\$[./A-Za-z0-9]{53}|argon2(?:id|i|d)\\$[A-Za-z0-9=,+/$]{40,200})", CHECK_NONE, 32},

	/* ---- fields ---- */
	{"url-password", "field", {"://"}, "(?<=[a-zA-Z0-9+])://[^\\s/@:\"'<>]{0,128}:([^\\s/@\"'<>]{3,256})@(?=[A-Za-z0-9\\[$_{])", CHECK_VALUE, 0},
	{"url-token", "field", {"://"}, "(?<=[a-zA-Z0-9+])://([A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9])", CHECK_GENERIC, 30},
	{"url-query", "field", {"key=", "token=", "secret=", "signature=", "sig=", "auth=", "passwd=", "password=", "pwd=", "code="},
	 "(?i)(?<=[?&_-])(?:key|token|secret|signature|sig|auth|passwd|password|pwd|code)=([A-Za-z0-9%._~+/-]{12,2000}={0,2})", CHECK_GENERIC, 28},
	{"authorization", "field", {"authorization"}, "(?i)authorization[\"'\\]]{0,2}[ \\t]{0,4}[:=][ \\t]{0,4}[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey|bot|splunk)[ \\t]{1,4})?([^\\s\"',]{8,2000})", CHECK_VALUE, 22},
	{"bearer-token", "field", {"bearer "}, L "(?i)bearer[ \\t]{1,4}([A-Za-z0-9._~+/-]{20,2000}={0,2})", CHECK_GENERIC, 32},
	{"basic-auth", "field", {"basic "}, L "(?i)basic[ \\t]{1,4}([A-Za-z0-9+/]{8,400}={0,2})", CHECK_BASIC, 0},
	{"cookie", "field", {"cookie:", "cookie\":", "cookie':"}, "(?i)cookie[\"']?:[ \\t]{0,4}[\"']?([^\\r\\n\"'=]{1,64}=[^\\r\\n\"']{8,4000})", CHECK_VALUE, 25},
	{"session-cookie", "field", {"sessionid", "session_id", "phpsessid", "jsessionid", "connect.sid", "csrftoken", "xsrf-token", "laravel_session"},
	 "(?i)(?:sessionid|session_id|phpsessid|jsessionid|connect\\.sid|csrftoken|xsrf-token|laravel_session)[\"']?[=:][ ]?[\"']?([A-Za-z0-9%._~+/-]{16,400}={0,2})", CHECK_GENERIC, 30},
	{"api-key-header", "field", {"x-api-key", "x-auth-token", "private-token", "x-vault-token", "x-goog-api-key", "job-token", "deploy-token", "x-access-token", "x-auth-key"},
	 "(?i)(?:x-api-key|x-auth-token|private-token|x-vault-token|x-goog-api-key|job-token|deploy-token|x-access-token|x-auth-key)[\"']{0,2}[ \\t]{0,4}[:=][ \\t]{0,4}[\"']?([^\\s\"',]{8,400})", CHECK_VALUE, 22},
	{"option", "field", {"--password", "--passwd", "--pass", "--token", "--secret", "--api-key", "--apikey", "--access-token", "--auth-token", "--client-secret", "--access-key", "--secret-key", "--http-password", "--db-password", "--api-token"},
	 "(?i)--(?:http-|db-)?(?:password|passwd|pass|token|secret|api-?key|access-token|auth-token|client-secret|access-key|secret-key|api-token)(?:=|[ \\t]{1,4})" VALUE("6"), CHECK_VALUE, 20},
	{"curl-user", "field", {"curl "}, L "curl[ ](?:[^\\r\\n|;&]{0,400}?[ ])?(?:-u|--user|-U|--proxy-user)[ =]?[\"']?[^\\s:\"']{1,128}:([^\\s\"']{3,256})", CHECK_VALUE, 0},
	{"client-password", "field", {"mysql", "sshpass", "mariadb", "redis-cli", "docker login", "podman login"},
	 L "(?|(?:mysql|mariadb)[a-z-]{0,12}[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-p[\"']?([^\\s\"'-][^\\s\"']{3,255})|sshpass[ ]{1,4}-p[ ]{0,4}[\"']?([^\\s\"']{4,256})|redis-cli[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-a[ ]{1,4}[\"']?([^\\s\"']{4,256})|(?:docker|podman)[ ]login[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-p[ ]{1,4}[\"']?([^\\s\"']{4,256}))", CHECK_VALUE, 0},
	{"netrc", "field", {"machine "}, L "machine[ \\t]{1,8}[^\\s]{1,256}\\s{1,16}login\\s{1,8}[^\\s]{1,256}\\s{1,16}password\\s{1,8}([^\\s]{3,256})", CHECK_VALUE, 0},

	/* Found by its place alone, see arguments.c. */
	{"argument", "field", {NULL}, "(*FAIL)", CHECK_NONE, 0},

	/* ---- a name that says it, and a value ---- */
	{"password", "generic", {"password", "passwd", "passphrase", "_pwd", "pwd=", "pwd:", "_pass", "pass=", "pass:"},
	 "(?i)_?(?:password|passwd|passphrase|pwd|pass)" NO_META "[A-Za-z0-9_-]{0,24}" ASSIGN VALUE("8"), CHECK_PASSWORD, 24},
	{"secret", "generic", {"secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key", "private_key", "auth_key", "authkey", "encryption_key", "signing_key", "credential", "master_key"},
	 "(?i)(?:secret|token|api[_-]?key|access_?key|private_key|auth_?key|encryption_key|signing_key|credential|master_key)" NO_META "[A-Za-z0-9_.-]{0,24}" ASSIGN VALUE("8"), CHECK_GENERIC, 29},
	{"high-entropy", "generic", {"secret", "token", "password", "api key", "apikey", "api_key", "access key", "credential"},
	 "(?i)(?:secret|token|password|api[ _]?key|access key|credential)s?[ \\t:=\"'`>]{1,6}(?:is|are|for|set to|was)?[ :=\"'`]{0,4}([A-Za-z0-9+/_-]{24,200}={0,2})(?![A-Za-z0-9+/_.=-])", CHECK_MIXED, 38},
};
/* clang-format on */

const size_t detector_count = sizeof(detectors) / sizeof(detectors[0]);
