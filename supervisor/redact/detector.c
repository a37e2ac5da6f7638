/*
 * A row for each detector. Patterns begin with what may not stand before them, so that a run of
 * keywords costs no more than its length, and no repetition is without a limit.
 */
#include "detector.h"

/* Left and right of a token. */
#define L "(?<![A-Za-z0-9])"
#define R "(?![A-Za-z0-9_-])"
/* Between a name and its value, and the value in its quotes or without. */
#define ASSIGN "[\"'\\]]{0,2}[ \\t]{0,24}(?::=|=>|=|:)[ \\t]{0,24}(?:[bruf]{1,2}(?=[\"']))?"
/* Also as an argument of a call, and as what stands in an element. */
#define ASSIGN_WIDE "(?:" ASSIGN "|[\"'],[ \\t]{0,2}(?=[\"'])|>(?=[^<\\s]{6,100}</))"
#define VALUE(least)                                                                               \
	"(?|\"([^\"\\r\\n]{" least ",400})\"|'([^'\\r\\n]{" least                                  \
	",400})'|\\\\\"([^\"\\\\\\r\\n]{" least                                                    \
	",400})\\\\\"|([^\\s\"'`,;<>(){}\\[\\]\\\\&|]{" least ",400}+)(?![(\\[]))"
/* The value of one of @names, in any case; what it has to look like is @value. */
#define NAMED(names, value) "(?i)(?:" names ")" ASSIGN "(?-i:\\\\?[\"']?(" value "))" R
#define UUID "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
/* A name that goes on like this says something about a secret. */
#define NO_META                                                                                    \
	"(?![A-Za-z0-9_.-]{0,20}?(?:type|name|count|_id|url|uri|path|file|dir|len|length|size|"    \
	"limit|expir[a-z_]{0,8}|ttl|field|endpoint|arn|ref|version|policy|hint|label|prefix|"      \
	"usage|"                                                                                   \
	"format|used|budget|izer|manager|s)[\"'\\]]{0,2}[ \\t]{0,8}(?:=>|[:=]))"

/* What follows the name of an option in a sentence. */
#define NO_PROSE                                                                                   \
	"(?!(?:options?|flags?|arguments?|or|and|is|as|to|from|for|with|will|can|must|may|"        \
	"instead|on|in|if)\\b)"

/* clang-format off */
const struct detector detectors[] = {
	/* ---- clouds ---- */
	{"aws-access-key-id", "cloud", {"akia", "asia", "abia", "acca"}, L "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}" R, CHECK_VALUE, 28},
	{"aws-secret-key", "cloud", {"secretaccesskey", "secret_access_key", "aws_secret", "secretkey", "secret_key"},
	 "(?i)(?:aws_)?secret_?(?:access_?)?key" ASSIGN "[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", CHECK_VALUE, 38},
	{"aws-session-token", "cloud", {"session_token", "sessiontoken", "security-token", "security_token"},
	 "(?i)(?:session|security)[_-]?token" ASSIGN "[\"']?([A-Za-z0-9/+=]{100,2000})", CHECK_NONE, 35},
	{"aws-bedrock-key", "cloud", {"absk"}, L "ABSK[A-Za-z0-9+/]{109,269}={0,2}", CHECK_NONE, 40},
	{"aws-mws-token", "cloud", {"amzn.mws."}, L "amzn\\.mws\\." UUID R, CHECK_NONE, 28},
	{"gcp-api-key", "cloud", {"aiza"}, L "AIza[0-9A-Za-z_-]{35}" R, CHECK_VALUE, 35, .examples = {"AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe"}},
	{"gcp-client-secret", "cloud", {"gocspx-"}, L "GOCSPX-[A-Za-z0-9_-]{28}" R, CHECK_NONE, 30},
	{"gcp-access-token", "cloud", {"ya29."}, L "ya29\\.[0-9A-Za-z_-]{20,1024}", CHECK_NONE, 30},
	{"gcp-refresh-token", "cloud", {"1//0"}, L "1//0[0-9A-Za-z_-]{40,256}", CHECK_NONE, 35},
	{"azure-storage-key", "cloud", {"accountkey=", "sharedaccesskey="}, "(?i)(?:account|sharedaccess)key=([A-Za-z0-9+/]{43,86}={1,2})", CHECK_NONE, 35, .examples = {"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPM"}},
	{"azure-client-secret", "cloud", {"q~"}, L "[A-Za-z0-9_~.-]{3}[0-9][Qq]~[A-Za-z0-9_~.-]{31,34}" R, CHECK_NONE, 35, 4},
	{"azure-sas", "cloud", {"sig="}, "(?<=[?&;])sig=([A-Za-z0-9%+/_-]{40,80}(?:%3[dD]|=))", CHECK_NONE, 35},
	{"azure-devops-pat", "cloud", {"azdo"}, L "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" R, CHECK_NONE, 35, 76},
	{"azure-registry-key", "cloud", {"+acr"}, "(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{42}\\+ACR[A-D][A-Za-z0-9+/]{5}" R, CHECK_NONE, 38, 42},
	{"azure-function-key", "cloud", {"azfu"}, "(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==", CHECK_NONE, 38, 44},
	{"azure-search-key", "cloud", {"azse"}, L "[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}" R, CHECK_NONE, 38, 42},
	{"azure-cosmos-key", "cloud", {"acdb"}, "(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}==", CHECK_NONE, 40, 76},
	{"azure-bus-key", "cloud", {"+asb", "+aeh", "+arm"}, "(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{33}\\+A(?:Sb|Eh|Rm)[A-D][A-Za-z0-9+/]{5}=", CHECK_NONE, 38, 33},
	{"ibm-cloud-key", "cloud", {"ibmcloud_api_key", "ibm_api_key", "ibmcloud_apikey"}, NAMED("ibm(?:cloud)?_api_?key", "[A-Za-z0-9_-]{44}"), CHECK_NONE, 38},
	{"yandex-key", "cloud", {"aqvn", "t1.9eu"}, L "(?:AQVN[A-Za-z0-9_-]{35,38}|t1\\.9eu[A-Za-z0-9_-]{60,800}\\.[A-Za-z0-9_-]{86})" R, CHECK_NONE, 38},
	{"scaleway-secret", "cloud", {"scw_secret"}, NAMED("scw_secret_key", UUID), CHECK_VALUE, 28},
	{"hetzner-token", "cloud", {"hcloud_token"}, NAMED("hcloud_token", "[A-Za-z0-9]{64}"), CHECK_NONE, 40},
	{"linode-token", "cloud", {"linode_token", "linode_cli_token"}, NAMED("linode_(?:cli_)?token", "[a-f0-9]{64}"), CHECK_NONE, 30},
	{"cloudflare-token", "cloud", {"cf_api_token", "cloudflare_api_token"}, NAMED("(?:cf|cloudflare)_api_token", "[A-Za-z0-9_-]{40}"), CHECK_NONE, 38},
	{"cloudflare-global-key", "cloud", {"cf_api_key", "cloudflare_api_key", "x-auth-key"}, NAMED("(?:cf|cloudflare)_api_key|x-auth-key", "[a-f0-9]{37}"), CHECK_NONE, 28},
	{"fastly-token", "cloud", {"fastly_api_token", "fastly_api_key", "fastly-key"}, NAMED("fastly(?:_api_token|_api_key|-key)", "[A-Za-z0-9_-]{32}"), CHECK_NONE, 35},
	{"vercel-token", "cloud", {"vercel_token", "now_token"}, NAMED("(?:vercel|now)_token", "[A-Za-z0-9]{24}"), CHECK_NONE, 33},
	{"render-key", "cloud", {"rnd_"}, L "rnd_[A-Za-z0-9]{28,40}" R, CHECK_MIXED, 33},
	{"neon-key", "cloud", {"napi_"}, L "napi_[a-z0-9]{56,72}" R, CHECK_NONE, 33},
	{"datadog-key", "cloud", {"dd_api_key", "dd_app_key", "datadog_api_key", "datadog_app_key", "dd-api-key", "dd-application-key"},
	 NAMED("(?:dd|datadog)[_-](?:api|app|application)[_-]key", "[a-f0-9]{32}(?:[a-f0-9]{8})?"), CHECK_NONE, 28},
	{"honeycomb-key", "cloud", {"hcaik_", "hcxik_", "hcbik_"}, L "hc[axb]ik_[A-Za-z0-9]{50,64}" R, CHECK_NONE, 33},
	{"opsgenie-key", "cloud", {"geniekey "}, L "GenieKey (" UUID ")" R, CHECK_VALUE, 28},
	{"consul-token", "cloud", {"consul_http_token", "x-consul-token", "nomad_token", "x-nomad-token"}, NAMED("(?:consul_http|nomad)_token|x-(?:consul|nomad)-token", UUID), CHECK_VALUE, 28},
	{"rancher-token", "cloud", {"token-"}, L "token-[a-z0-9]{5}:([a-z0-9]{54})" R, CHECK_NONE, 35},
	{"openshift-token", "cloud", {"sha256~"}, L "sha256~([A-Za-z0-9_-]{43})" R, CHECK_NONE, 38},
	{"kubeadm-token", "cloud", {"kubeadm join", "bootstrap-token"}, "(?:kubeadm join[^\\r\\n]{1,200}?--token[ =]|bootstrap-token[\"']?[ \\t]{0,4}[:=][ \\t]{0,4}[\"']?)([a-z0-9]{6}\\.[a-z0-9]{16})" R, CHECK_NONE, 28},
	{"onepassword-token", "cloud", {"ops_eyj"}, L "ops_eyJ[A-Za-z0-9_-]{200,1200}={0,2}", CHECK_NONE, 35},
	{"onepassword-secret-key", "cloud", {"a3-"}, L "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}" R, CHECK_NONE, 35},
	{"bitwarden-token", "cloud", {"bws_access_token"}, NAMED("bws_access_token", "0\\." UUID "\\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}=="), CHECK_NONE, 38},
	{"akamai-token", "cloud", {"akab-"}, L "akab-[a-z0-9]{16}-[a-z0-9]{16}" R, CHECK_NONE, 30},
	{"confluent-secret", "cloud", {"cflt"}, L "cflt[A-Za-z0-9+/]{60}" R, CHECK_NONE, 40},
	{"mongodb-atlas-secret", "cloud", {"mdb_sa_sk_"}, L "mdb_sa_sk_[A-Za-z0-9_-]{40}" R, CHECK_NONE, 35},
	{"elastic-key", "cloud", {"essu_"}, L "essu_[A-Za-z0-9+/]{40,200}={0,2}", CHECK_NONE, 38},
	{"mapbox-token", "cloud", {"sk.eyj1"}, L "sk\\.eyJ1[A-Za-z0-9_-]{60,240}\\.[A-Za-z0-9_-]{22}" R, CHECK_NONE, 38},
	{"contentful-token", "cloud", {"cfpat-"}, L "CFPAT-[A-Za-z0-9_-]{43}" R, CHECK_NONE, 35},
	{"launchdarkly-key", "cloud", {"sdk-"}, L "sdk-" UUID R, CHECK_NONE, 28},
	{"posthog-key", "cloud", {"phx_"}, L "phx_[A-Za-z0-9]{40,50}" R, CHECK_NONE, 38},
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
	{"github-token", "vcs", {"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, L "gh[pousr]_([A-Za-z0-9]{36})" R, CHECK_CRC32, 38, .examples = {"16C7e42F292c6912E7710c838347Ae178B4a"}},
	{"github-fine-grained-token", "vcs", {"github_pat_"}, L "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}" R, CHECK_NONE, 35},
	{"gitlab-token", "vcs", {"glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "glimt-", "gloas-", "glffct-"},
	 L "gl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|imt|oas|ffct)-[0-9A-Za-z_.-]{20,80}" R, CHECK_VALUE, 30},
	{"gitlab-registration-token", "vcs", {"gr1348941"}, L "GR1348941([A-Za-z0-9_-]{20})" R, CHECK_NONE, 30},
	{"gitea-token", "vcs", {"gitea_token", "forgejo_token"}, NAMED("(?:gitea|forgejo)_token", "[a-f0-9]{40}"), CHECK_NONE, 28},
	{"bitbucket-password", "vcs", {"atbb"}, L "ATBB[A-Za-z0-9]{32}" R, CHECK_NONE, 32},
	{"atlassian-token", "vcs", {"atatt3"}, L "ATATT3[A-Za-z0-9_=-]{180,240}", CHECK_NONE, 35},
	{"circleci-token", "ci", {"ccipat_", "ccipra_"}, L "CCIP(?:AT|RA)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}" R, CHECK_NONE, 30},
	{"buildkite-token", "ci", {"bkua_", "bkct_"}, L "bk(?:ua|ct)_[a-z0-9]{40}" R, CHECK_NONE, 30},
	{"sonar-token", "ci", {"sqp_", "squ_", "sqa_"}, L "sq[pua]_[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"sourcegraph-token", "ci", {"sgp_"}, L "sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"teamcity-token", "ci", {"eyj0exaioiaivenwmij9"}, "eyJ0eXAiOiAiVENWMiJ9\\.[A-Za-z0-9_-]{36}\\.[A-Za-z0-9_-]{48}" R, CHECK_NONE, 38},
	{"octopus-key", "ci", {"api-"}, L "API-[A-Z0-9]{25,34}" R, CHECK_NONE, 33},
	{"harness-token", "ci", {"pat."}, L "pat\\.[A-Za-z0-9_-]{22}\\.[a-f0-9]{24}\\.[A-Za-z0-9]{20}" R, CHECK_NONE, 38},
	{"jenkins-token", "ci", {"jenkins_token", "jenkins_api_token"}, NAMED("jenkins_(?:api_)?token", "11[a-f0-9]{32}"), CHECK_NONE, 28},
	{"codecov-token", "ci", {"codecov_token"}, NAMED("codecov_token", UUID), CHECK_VALUE, 28},
	{"snyk-token", "ci", {"snyk_token"}, NAMED("snyk_token", UUID), CHECK_VALUE, 28},
	{"prefect-token", "ci", {"pnu_", "pnb_"}, L "pn[ub]_[A-Za-z0-9]{36}" R, CHECK_MIXED, 35},
	{"readme-key", "ci", {"rdme_"}, L "rdme_[a-z0-9]{70}" R, CHECK_NONE, 33},
	{"typeform-token", "ci", {"tfp_"}, L "tfp_[A-Za-z0-9_.-]{44,59}" R, CHECK_NONE, 38},
	{"hubspot-token", "ci", {"pat-na1-", "pat-eu1-", "pat-na2-"}, L "pat-(?:na|eu)[12]-" UUID R, CHECK_NONE, 28},
	{"clickup-token", "ci", {"pk_"}, L "pk_[0-9]{6,9}_[A-Z0-9]{32}" R, CHECK_NONE, 33},
	{"dropbox-token", "ci", {"sl.u.", "sl.b."}, L "sl\\.[uB]\\.[A-Za-z0-9_-]{120,1400}", CHECK_NONE, 40},
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
	{"jfrog-token", "package", {"cmvmdgtu"}, L "cmVmdGtu[A-Za-z0-9+/]{56}" R, CHECK_NONE, 38},
	{"clojars-token", "package", {"clojars_"}, L "CLOJARS_[a-f0-9]{60}" R, CHECK_NONE, 28},
	{"packagist-token", "package", {"packagist_"}, L "packagist_(?:oat|uut|ort|out)_[a-f0-9]{60,72}" R, CHECK_NONE, 28},
	{"hexpm-key", "package", {"hex_api_key"}, NAMED("hex_api_key", "[a-f0-9]{32}"), CHECK_NONE, 28},
	{"swarm-token", "package", {"swmtkn-1-", "swmkey-1-"}, L "SWM(?:TKN-1-[a-z0-9]{50}-[a-z0-9]{25}|KEY-1-[A-Za-z0-9+/]{43})" R, CHECK_NONE, 35},
	{"registry-auth", "package", {"\"auth\"", "_auth"}, "(?i)(?:\"auth\"|_auth)[ \\t]{0,4}[:=][ \\t]{0,4}\"?([A-Za-z0-9+/_-]{8,400}={0,2})", CHECK_BASIC, 0},
	{"registry-token", "package", {"_authtoken", ":_password"}, "(?i)(?:_authtoken|:_password)[ \\t]{0,4}=[ \\t]{0,4}\"?([^\\s\"]{8,400})", CHECK_VALUE, 25},

	/* ---- chat and mail ---- */
	{"slack-token", "chat", {"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}, L "(?:xox[bparse][-.][0-9A-Za-z.-]{20,250}|xapp-[0-9]-[A-Za-z0-9-]{20,200})", CHECK_VALUE, 28},
	{"slack-webhook", "chat", {"hooks.slack.com/"}, "hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{40,80})", CHECK_VALUE, 30, .examples = {"T00000000/B00000000"}},
	{"discord-webhook", "chat", {"/api/webhooks/"}, "/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,80})", CHECK_NONE, 35},
	{"telegram-token", "chat", {":aa"}, "(?:(?<=[^0-9][0-9]{8})|(?<=[^0-9][0-9]{9})|(?<=[^0-9][0-9]{10})|(?<=^[0-9]{10})|(?<=^[0-9]{9})):AA[A-Za-z0-9_-]{33}" R, CHECK_NONE, 35, .examples = {":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"}},
	{"teams-webhook", "chat", {"webhook.office.com/"}, "webhook\\.office\\.com/webhookb2/([A-Za-z0-9@/-]{80,200})", CHECK_NONE, 30},
	{"sendgrid-key", "chat", {"sg."}, L "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}" R, CHECK_NONE, 38},
	{"mailgun-key", "chat", {"key-"}, L "key-[a-f0-9]{32}" R, CHECK_NONE, 30},
	{"mailchimp-key", "chat", {"-us"}, L "[a-f0-9]{32}-us[0-9]{1,2}" R, CHECK_NONE, 30, 32},
	{"brevo-key", "chat", {"xkeysib-", "xsmtpsib-"}, L "x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}" R, CHECK_NONE, 30},
	{"twilio-token", "chat", {"twilio_auth_token", "twilioauthtoken", "twilio_token"}, NAMED("twilio_?(?:auth_?)?token", "[a-f0-9]{32}"), CHECK_NONE, 28},
	{"postmark-token", "chat", {"x-postmark-server-token", "postmark_server_token", "x-postmark-account-token"}, NAMED("(?:x-)?postmark[_-](?:server|account)[_-]token", UUID), CHECK_VALUE, 28},
	{"resend-key", "chat", {"re_"}, L "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}" R, CHECK_MIXED, 33},
	{"discord-bot-token", "chat", {"discord_token", "discord_bot_token", "bot_token", "\"bot "}, "(?i)(?:(?:discord_(?:bot_)?|bot_)token" ASSIGN "|\"Bot )(?-i:[\"']?([MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}))" R, CHECK_NONE, 38, .examples = {"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"}},
	{"slack-signing-secret", "chat", {"slack_signing_secret"}, NAMED("slack_signing_secret", "[a-f0-9]{32}"), CHECK_NONE, 28},
	{"facebook-token", "chat", {"eaam", "eaac", "eaab"}, L "EAA[MCB][A-Za-z0-9]{90,400}" R, CHECK_MIXED, 38},
	{"linkedin-secret", "chat", {"wpl_ap"}, L "WPL_AP[01]\\.[A-Za-z0-9]{16}\\.[A-Za-z0-9+/]{6}==", CHECK_NONE, 35},
	{"zapier-webhook", "chat", {"hooks.zapier.com/"}, "hooks\\.zapier\\.com/hooks/catch/[0-9]{5,10}/([a-z0-9]{6,12})" R, CHECK_NONE, 12},
	{"lark-webhook", "chat", {"/open-apis/bot/v2/hook/"}, "/open-apis/bot/v2/hook/(" UUID ")" R, CHECK_VALUE, 28},

	/* ---- payment and shops ---- */
	{"stripe-key", "payment", {"sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_"}, L "[sr]k_(?:live|test|prod)_[0-9A-Za-z]{16,250}" R, CHECK_VALUE, 30, .examples = {"4eC39HqLyjWDarjtT1zdp7dc", "BQokikJOvBiI2HlWgH4olfQ2"}},
	{"webhook-secret", "payment", {"whsec_"}, L "whsec_[A-Za-z0-9+/=]{24,80}", CHECK_VALUE, 30},
	{"square-secret", "payment", {"sq0csp-", "sq0atp-"}, L "sq0(?:csp|atp)-[A-Za-z0-9_-]{22,43}" R, CHECK_NONE, 30},
	{"braintree-token", "payment", {"access_token$production$"}, "access_token\\$production\\$[a-z0-9]{16}\\$[a-f0-9]{32}", CHECK_NONE, 28},
	{"shopify-token", "payment", {"shpat_", "shpss_", "shppa_", "shpca_"}, L "shp(?:at|ss|pa|ca)_[a-fA-F0-9]{32}" R, CHECK_NONE, 28},
	{"plaid-token", "payment", {"access-sandbox-", "access-development-", "access-production-"}, L "access-(?:sandbox|development|production)-" UUID R, CHECK_NONE, 28},
	{"mollie-key", "payment", {"live_"}, L "live_[A-Za-z0-9]{30,35}" R, CHECK_VALUE, 38},
	{"flutterwave-key", "payment", {"flwseck"}, L "FLWSECK(?:_TEST)?-[a-f0-9]{32}-X" R, CHECK_NONE, 28},
	{"easypost-key", "payment", {"ezak", "eztk"}, L "EZ[AT]K[A-Za-z0-9]{54}" R, CHECK_NONE, 38},
	{"duffel-token", "payment", {"duffel_test_", "duffel_live_"}, L "duffel_(?:test|live)_[A-Za-z0-9_-]{43}" R, CHECK_NONE, 38},
	{"shippo-token", "payment", {"shippo_live_", "shippo_test_"}, L "shippo_(?:live|test)_[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"card-number", "payment", {"card_number", "cardnumber", "card number", "card-number", "cc_number", "ccnum"},
	 "(?i)(?:card[ _-]?number|cc_number|ccnum)" ASSIGN "[\"']?((?:[0-9][ -]?){12,18}[0-9])(?![0-9])", CHECK_LUHN, 10, .examples = {"4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "6011111111111117", "4012888888881881"}},

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
	{"nvidia-key", "model", {"nvapi-"}, L "nvapi-[A-Za-z0-9_-]{60,70}" R, CHECK_NONE, 38},
	{"langsmith-key", "model", {"lsv2_"}, L "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}" R, CHECK_NONE, 28},
	{"langfuse-key", "model", {"sk-lf-"}, L "sk-lf-" UUID R, CHECK_NONE, 28},
	{"cerebras-key", "model", {"csk-"}, L "csk-[a-z0-9]{48}" R, CHECK_NONE, 35},
	{"together-key", "model", {"tgp_v1_"}, L "tgp_v1_[A-Za-z0-9_-]{43}" R, CHECK_NONE, 38},
	{"tavily-key", "model", {"tvly-"}, L "tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}" R, CHECK_NONE, 35},
	{"firecrawl-key", "model", {"fc-"}, L "fc-[a-f0-9]{32}" R, CHECK_NONE, 28},
	{"pinecone-key", "model", {"pcsk_"}, L "pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{55,70}" R, CHECK_NONE, 38},
	{"jina-key", "model", {"jina_"}, L "jina_[a-f0-9]{32}[A-Za-z0-9_-]{28}" R, CHECK_NONE, 33},
	{"elevenlabs-key", "model", {"sk_"}, L "sk_[a-f0-9]{48}" R, CHECK_NONE, 28},
	{"e2b-key", "model", {"e2b_"}, L "e2b_[a-f0-9]{40}" R, CHECK_NONE, 28},
	{"runpod-key", "model", {"rpa_"}, L "rpa_[A-Z0-9]{40,46}" R, CHECK_NONE, 33},
	{"wandb-key", "model", {"wandb_api_key"}, NAMED("wandb_api_key", "[a-f0-9]{40}"), CHECK_NONE, 28},
	{"gateway-key", "model", {"vck_"}, L "vck_[A-Za-z0-9]{50,60}" R, CHECK_NONE, 38},

	/* ---- keys and tokens of no one vendor ---- */
	{"private-key", "key", {"-----begin"}, "-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\\s\\\\:,.-]{16,8000}?(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\\z)", CHECK_NONE, 20},
	{"age-key", "key", {"age-secret-key-1"}, L "(?i)AGE-SECRET-KEY-1[A-Z0-9]{58}" R, CHECK_BECH32, 0, .examples = {"AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"}},
	{"nostr-key", "key", {"nsec1"}, L "nsec1[a-z0-9]{58}" R, CHECK_BECH32, 0, .examples = {"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"}},
	{"bip32-key", "key", {"xprv", "tprv"}, L "[xt]prv[1-9A-HJ-NP-Za-km-z]{107,108}" R, CHECK_NONE, 40, .examples = {"xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"}},
	{"putty-key", "key", {"private-lines:"}, "Private-Lines: [0-9]{1,4}\\r?\\n([A-Za-z0-9+/=\\r\\n]{40,8000})", CHECK_NONE, 35},
	{"jwk", "key", {"\"d\":", "\"d\" :"}, "\"d\" ?: ?\"([A-Za-z0-9_-]{40,700})\"", CHECK_NONE, 38},
	{"django-key", "key", {"django-insecure-"}, L "django-insecure-([a-z0-9!@#$%^&*(=_+)-]{30,64})", CHECK_NONE, 33},
	{"laravel-key", "key", {"app_key"}, NAMED("app_key", "base64:[A-Za-z0-9+/]{43}="), CHECK_NONE, 38},
	{"machine-key", "key", {"validationkey", "decryptionkey"}, NAMED("(?:validation|decryption)key", "[A-F0-9]{32,128}"), CHECK_NONE, 28},
	{"otp-secret", "key", {"otpauth://"}, "(?i)otpauth://[a-z]{4}/[^\\s\"'<>]{0,256}?[?&]secret=([A-Z2-7]{16,128})", CHECK_NONE, 28, .examples = {"JBSWY3DPEHPK3PXP"}},
	{"wireguard-key", "key", {"privatekey", "presharedkey"}, "(?i)(?:private|preshared)key[ \\t]{0,8}=[ \\t]{0,8}([A-Za-z0-9+/]{43}=)", CHECK_NONE, 35},
	{"kubeconfig-key", "key", {"client-key-data"}, "client-key-data\"?:[ \\t]{0,8}\"?([A-Za-z0-9+/=]{64,8000})", CHECK_NONE, 30},
	{"jwt", "key", {"eyj"}, "(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}\\.eyJ[A-Za-z0-9_-]{8,6000}\\.[A-Za-z0-9_-]{16,1000}", CHECK_VALUE, 35, .examples = {"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ", "POstGetfAytaZS82wHcjoTyoqhMyxXiWdR7Nn7A29DNSl0EiXLdwJ6xC6Af"}},
	{"password-hash", "key", {"$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"},
	 "\\$(?:(?:1|5|6|y|apr1)\\$[./A-Za-z0-9=$]{2,32}\\$[./A-Za-z0-9]{22,86}|2[aby]\\$[0-9]{2}\\$[./A-Za-z0-9]{53}|argon2(?:id|i|d)\\$[A-Za-z0-9=,+/$]{40,200})", CHECK_NONE, 32, .examples = {"$2a$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW"}},

	/* ---- fields ---- */
	{"url-password", "field", {"://"}, "(?<=[a-zA-Z0-9+])://[^\\s/@:\"'<>]{0,128}:([^\\s/@\"'<>]{3,256})@(?=[A-Za-z0-9\\[$_{])", CHECK_VALUE, 0},
	{"url-token", "field", {"://"}, "(?<=[a-zA-Z0-9+])://([A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9])", CHECK_GENERIC, 30},
	{"url-query", "field", {"key=", "token=", "secret=", "signature=", "sig=", "auth=", "passwd=", "password=", "pwd=", "code="},
	 "(?i)(?<=[?&_-])(?:key|token|secret|signature|sig|auth|passwd|password|pwd|code)=([A-Za-z0-9%._~+/-]{12,2000}={0,2})", CHECK_GENERIC, 28},
	{"authorization", "field", {"authorization"}, "(?i)authorization[\"'\\]]{0,2}[ \\t]{0,4}[:=][ \\t]{0,4}[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey|bot|splunk)[ \\t]{1,4})?([^\\s\"',()]{8,2000}+)(?!\\()", CHECK_VALUE, 22, .examples = {"QWxhZGRpbjpvcGVuIHNlc2FtZQ", "mF_9.B5f-4.1JqM"}},
	{"bearer-token", "field", {"bearer "}, L "(?i)bearer[ \\t]{1,4}([A-Za-z0-9._~+/-]{20,2000}={0,2})", CHECK_GENERIC, 32},
	{"basic-auth", "field", {"basic "}, L "(?i)basic[ \\t]{1,4}([A-Za-z0-9+/]{8,400}={0,2})", CHECK_BASIC, 0, .examples = {"QWxhZGRpbjpvcGVuIHNlc2FtZQ", "dXNlcjpwYXNz"}},
	{"cookie", "field", {"cookie:", "cookie\":", "cookie':"}, "(?i)cookie[\"']?:[ \\t]{0,4}[\"']?([^\\r\\n\"'=]{1,64}=[^\\r\\n\"']{8,4000})", CHECK_VALUE, 25},
	{"session-cookie", "field", {"sessionid", "session_id", "phpsessid", "jsessionid", "connect.sid", "csrftoken", "xsrf-token", "laravel_session"},
	 "(?i)(?:sessionid|session_id|phpsessid|jsessionid|connect\\.sid|csrftoken|xsrf-token|laravel_session)[\"']?[=:][ ]?[\"']?([A-Za-z0-9%._~+/-]{16,400}={0,2})", CHECK_GENERIC, 30},
	{"api-key-header", "field", {"x-api-key", "x-auth-token", "private-token", "x-vault-token", "x-goog-api-key", "job-token", "deploy-token", "x-access-token", "x-auth-key"},
	 "(?i)(?:x-api-key|x-auth-token|private-token|x-vault-token|x-goog-api-key|job-token|deploy-token|x-access-token|x-auth-key)[\"']{0,2}[ \\t]{0,4}[:=][ \\t]{0,4}[\"']?([^\\s\"',]{8,400})", CHECK_VALUE, 22},
	{"option", "field", {"--password", "--passwd", "--pass", "--token", "--secret", "--api-key", "--apikey", "--access-token", "--auth-token", "--client-secret", "--access-key", "--secret-key", "--http-password", "--db-password", "--api-token"},
	 "(?i)--(?:http-|db-)?(?:password|passwd|pass|token|secret|api-?key|access-token|auth-token|client-secret|access-key|secret-key|api-token)(?:=|[ \\t]{1,4}" NO_PROSE ")" VALUE("6"), CHECK_VALUE, 20},
	{"curl-user", "field", {"curl "}, L "curl[ ](?:[^\\r\\n|;&]{0,400}?[ ])?(?:-u|--user|-U|--proxy-user)[ =]?[\"']?[^\\s:\"']{1,128}:([^\\s\"']{3,256})", CHECK_VALUE, 0},
	{"client-password", "field", {"mysql", "sshpass", "mariadb", "redis-cli", "docker login", "podman login"},
	 L "(?|(?:mysql|mariadb)[a-z-]{0,12}[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-p[\"']?([^\\s\"'-][^\\s\"']{3,255})|sshpass[ ]{1,4}-p[ ]{0,4}[\"']?([^\\s\"']{4,256})|redis-cli[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-a[ ]{1,4}[\"']?([^\\s\"']{4,256})|(?:docker|podman)[ ]login[ ](?:[^\\r\\n|;&]{0,400}?[ ])?-p[ ]{1,4}[\"']?([^\\s\"']{4,256}))", CHECK_VALUE, 0},
	{"netrc", "field", {"machine "}, L "machine[ \\t]{1,8}[^\\s]{1,256}\\s{1,16}login\\s{1,8}[^\\s]{1,256}\\s{1,16}password\\s{1,8}([^\\s]{3,256})", CHECK_VALUE, 0},
	{"server-password", "field", {"requirepass ", "masterauth "}, "(?:requirepass|masterauth)[ \\t]{1,8}[\"']?([^\\s\"']{4,256})", CHECK_PASSWORD, 0},
	{"git-credential", "field", {"protocol=http", "host="}, "(?:protocol=https?\\s{1,2}host|host)=[^\\s]{1,256}\\s{1,2}(?:[a-z\\[\\]]{1,20}=[^\\r\\n]{0,256}\\s{1,2}){0,4}?password=([^\\s]{3,256})", CHECK_VALUE, 0},
	{"pgpass", "field", {":5432:", ":6432:"}, ":[56]432:[^:\\s]{1,64}:[^:\\s/]{1,64}:([^\\s:\"']{3,256})", CHECK_VALUE, 0},
	{"oracle-url", "field", {"jdbc:oracle:thin:"}, "jdbc:oracle:thin:[^/\\s:@]{1,64}/([^@\\s\"']{3,128})@", CHECK_VALUE, 0},

	/* Found by its place alone, see arguments.c. */
	{"argument", "field", {NULL}, "(*FAIL)", CHECK_NONE, 0},

	/* ---- a name that says it, and a value ---- */
	{"password", "generic", {"password", "passwd", "passphrase", "_pwd", "pwd=", "pwd:", "_pass", "pass=", "pass:"},
	 "(?i)_?(?:password|passwd|passphrase|pwd|pass)" NO_META "[A-Za-z0-9_-]{0,24}" ASSIGN_WIDE VALUE("8"), CHECK_PASSWORD, 24},
	{"secret", "generic", {"secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key", "private_key", "auth_key", "authkey", "encryption_key", "signing_key", "credential", "master_key"},
	 "(?i)(?:secret|token|api[_-]?key|access_?key|private_key|auth_?key|encryption_key|signing_key|credential|master_key)" NO_META "[A-Za-z0-9_.-]{0,24}" ASSIGN VALUE("8"), CHECK_GENERIC, 29},
	{"high-entropy", "generic", {"secret", "token", "password", "api key", "apikey", "api_key", "access key", "credential"},
	 "(?i)(?:secret|token|password|api[ _]?key|access key|credential)s?[ \\t:=\"'`>]{1,6}(?:is|are|for|set to|was)?[ :=\"'`]{0,4}([A-Za-z0-9+/_-]{24,200}={0,2})(?![A-Za-z0-9+/_.=-])", CHECK_MIXED, 38},
};
/* clang-format on */

const char *const detector_checks[] = {
	[CHECK_NONE] = "none",	       [CHECK_CRC32] = "crc32",	    [CHECK_BECH32] = "bech32",
	[CHECK_LUHN] = "luhn",	       [CHECK_BASIC] = "basic",	    [CHECK_VALUE] = "value",
	[CHECK_PASSWORD] = "password", [CHECK_GENERIC] = "generic", [CHECK_MIXED] = "mixed",
	[CHECK_MIXED + 1] = NULL,
};

const size_t detector_count = sizeof(detectors) / sizeof(detectors[0]);
