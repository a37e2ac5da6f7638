/*
 * How each kind of event is told in one line.
 *
 * A row is a list of parts {before, field, how, after}. All fields are in the JSON; a line shows
 * what a person looks for first.
 */
#include "line.h"

/* clang-format off */
#define PARTS(...) .parts = (const struct part[]){__VA_ARGS__, {0}}

#define FILE_PART {"", FIELD_NONE, SHOW_FILE}
#define ENDS_PART {"", FIELD_NONE, SHOW_ENDS}
#define VERDICT_PART {"", FIELD_NONE, SHOW_VERDICT}
#define NEW_PATH_PARTS {" -> ", FIELD_new_path}
#define FAILED_PARTS {": ", FIELD_error, SHOW_PROSE}, {": ", FIELD_result, SHOW_RESULT}
#define USAGE_PARTS \
	{", after ", FIELD_usage_wall_ns, SHOW_DURATION}, {", cpu ", FIELD_usage_cpu_ns, SHOW_DURATION}, \
	{", memory ", FIELD_usage_memory_peak, SHOW_SIZE}, {", written ", FIELD_usage_write_bytes, SHOW_SIZE}, \
	{", ", FIELD_usage_processes, SHOW_VALUE, " processes"}
#define OUTPUT_PARTS \
	{", stdout ", FIELD_stdout_total, SHOW_SIZE}, {", stderr ", FIELD_stderr_total, SHOW_SIZE}, \
	{", terminal ", FIELD_tty_total, SHOW_SIZE}, {", not all output is in the record", FIELD_output_truncated, SHOW_FLAG}, \
	{", output still held by ", FIELD_detached_writers}

const struct row line_rows[EVENT_KIND_COUNT] = {
	[EVENT_session_start] = {PARTS(
		{"", FIELD_NONE, SHOW_COMMAND}, {"  name ", FIELD_name}, {", tenant ", FIELD_tenant},
		{", ", FIELD_labels}, {", user ", FIELD_user_name}, {", uid ", FIELD_user_uid}, {", workspace ", FIELD_workspace},
		{", network ", FIELD_network}, {", on loss ", FIELD_on_loss}, {", seen by ", FIELD_source})},
	[EVENT_session_ready] = {PARTS({"after ", FIELD_usage_wall_ns, SHOW_DURATION})},
	[EVENT_session_pause] = {STYLE_POLICY, PARTS({"frozen: ", FIELD_reason, SHOW_PROSE}, {" by ", FIELD_by, SHOW_PROSE})},
	[EVENT_session_resume] = {STYLE_POLICY, PARTS(
		{"", FIELD_reason, SHOW_PROSE}, {" by ", FIELD_by, SHOW_PROSE}, {" after ", FIELD_usage_wall_ns, SHOW_DURATION})},
	[EVENT_session_end] = {PARTS(VERDICT_PART, USAGE_PARTS, {"", FIELD_NONE, SHOW_LOST}, {"", FIELD_NONE, SHOW_UNEXPLAINED})},
	[EVENT_exec_start] = {PARTS(
		{"", FIELD_exec, SHOW_VALUE, ": "}, {"", FIELD_argv}, {"  in ", FIELD_cwd}, {" as ", FIELD_as_user},
		{" on a terminal", FIELD_tty, SHOW_FLAG}, {" ", FIELD_columns}, {"x", FIELD_rows}, {", limits ", FIELD_limits})},
	[EVENT_exec_end] = {PARTS({"", FIELD_exec, SHOW_VALUE, ": "}, VERDICT_PART, USAGE_PARTS, OUTPUT_PARTS)},

	[EVENT_process_fork] = {STYLE_DIM, PARTS({"-> ", FIELD_child_pid})},
	[EVENT_process_exec] = {PARTS({"", FIELD_argv}, {"", FIELD_NONE, SHOW_PROGRAM}, {"  in ", FIELD_cwd})},
	[EVENT_process_exec_failed] = {PARTS({"", FIELD_argv}, {"  path ", FIELD_requested}, FAILED_PARTS)},
	[EVENT_process_exit] = {STYLE_DIM, PARTS(VERDICT_PART, USAGE_PARTS)},
	[EVENT_process_cred] = {PARTS(
		{"uid ", FIELD_old_uid}, {" -> ", FIELD_uid}, {", euid ", FIELD_old_euid}, {" -> ", FIELD_euid},
		{", gid ", FIELD_old_gid}, {" -> ", FIELD_gid}, {", egid ", FIELD_old_egid}, {" -> ", FIELD_egid},
		{", caps ", FIELD_old_caps, SHOW_HEX}, {" -> ", FIELD_caps, SHOW_HEX})},
	[EVENT_process_cgroup] = {PARTS({"", FIELD_cgroup_path})},

	[EVENT_file_read] = {PARTS(FILE_PART)},
	[EVENT_file_open] = {PARTS(FILE_PART, {"  ", FIELD_flags})},
	[EVENT_file_modify] = {PARTS(
		FILE_PART, {"  ", FIELD_bytes_written, SHOW_SIZE, " written"}, {" by ", FIELD_methods},
		{", size ", FIELD_size, SHOW_SIZE}, {", ", FIELD_writers, SHOW_WHEN_MANY, " writers"},
		{", still open", FIELD_still_open, SHOW_FLAG})},
	[EVENT_file_create] = {PARTS(FILE_PART, {"  mode ", FIELD_mode, SHOW_OCTAL})},
	[EVENT_file_delete] = {PARTS(FILE_PART)},
	[EVENT_file_rename] = {PARTS(FILE_PART, NEW_PATH_PARTS, {" (both swapped)", FIELD_exchange, SHOW_FLAG})},
	[EVENT_file_link] = {PARTS(FILE_PART, NEW_PATH_PARTS)},
	[EVENT_file_symlink] = {PARTS(FILE_PART, {" -> ", FIELD_target})},
	[EVENT_file_mkdir] = {PARTS(FILE_PART, {"  mode ", FIELD_mode, SHOW_OCTAL})},
	[EVENT_file_rmdir] = {PARTS(FILE_PART)},
	[EVENT_file_attr] = {PARTS(
		FILE_PART, {"  ", FIELD_change}, {" ", FIELD_xattr_name}, {" removed", FIELD_removed, SHOW_FLAG},
		{" ", FIELD_mode, SHOW_OCTAL}, {" uid ", FIELD_uid}, {" gid ", FIELD_gid})},
	[EVENT_file_truncate] = {PARTS(FILE_PART, {"  from ", FIELD_old_size, SHOW_SIZE}, {" to ", FIELD_size, SHOW_SIZE})},
	[EVENT_file_mmap] = {PARTS(FILE_PART, {"  ", FIELD_size, SHOW_SIZE, " shared and writable"})},

	[EVENT_net_connect] = {PARTS(ENDS_PART, {"  ", FIELD_name}, FAILED_PARTS)},
	[EVENT_net_accept] = {PARTS(ENDS_PART)},
	[EVENT_net_bind] = {PARTS(ENDS_PART, FAILED_PARTS)},
	[EVENT_net_listen] = {PARTS(ENDS_PART, {"  queue of ", FIELD_backlog})},
	[EVENT_net_send] = {PARTS(ENDS_PART, {"  ", FIELD_name}, {"  ", FIELD_size, SHOW_SIZE}, FAILED_PARTS)},
	[EVENT_net_close] = {PARTS(
		ENDS_PART, {"  ", FIELD_name}, {"  sent ", FIELD_bytes_sent, SHOW_SIZE},
		{", received ", FIELD_bytes_received, SHOW_SIZE}, {", still open", FIELD_still_open, SHOW_FLAG})},
	[EVENT_net_unix] = {PARTS({"", FIELD_act, SHOW_VALUE, " "}, ENDS_PART, FAILED_PARTS)},

	[EVENT_dns_query] = {PARTS(
		{"", FIELD_name}, {" ", FIELD_dns_type}, {"  over ", FIELD_transport}, {" to ", FIELD_dst_address},
		{"  MALFORMED: ", FIELD_malformed, SHOW_PROSE})},
	[EVENT_dns_answer] = {PARTS(
		{"", FIELD_name}, {" ", FIELD_dns_type}, {": ", FIELD_rcode}, {"  ", FIELD_answers},
		{" (truncated by the server)", FIELD_dns_truncated, SHOW_FLAG}, {"  MALFORMED: ", FIELD_malformed, SHOW_PROSE})},
	[EVENT_tls_hello] = {PARTS({"", FIELD_server_name}, {"  offers ", FIELD_alpn}, {"  to ", FIELD_dst_address})},
	[EVENT_egress_verdict] = {PARTS(
		{"", FIELD_verdict, SHOW_VALUE, " "}, ENDS_PART, {"  ", FIELD_name}, {"  rule ", FIELD_rule}, {": ", FIELD_reason, SHOW_PROSE})},
	[EVENT_package_install] = {PARTS(
		{"", FIELD_manager, SHOW_VALUE, ": "}, {"", FIELD_name}, {" ", FIELD_package_version}, {" from ", FIELD_registry},
		{" ", FIELD_hash}, {": ", FIELD_result, SHOW_RESULT})},

	[EVENT_attempt] = {PARTS(
		{"refused: ", FIELD_syscall}, {" ", FIELD_arguments}, {": ", FIELD_error, SHOW_PROSE}, {"  ", FIELD_reason, SHOW_PROSE})},
	[EVENT_limit] = {PARTS({"", FIELD_limit}, {" ", FIELD_value}, {" of the ", FIELD_scope}, {", hit ", FIELD_count, SHOW_VALUE, " times"})},

	[EVENT_output] = {PARTS({"", FIELD_stream}, {" ", FIELD_size, SHOW_SIZE}, {"  ", FIELD_data})},
	[EVENT_input] = {PARTS(
		{"", FIELD_stream}, {" ", FIELD_size, SHOW_SIZE}, {"  ", FIELD_data}, {" resized to ", FIELD_columns}, {"x", FIELD_rows})},

	[EVENT_record_access] = {PARTS(
		{"by ", FIELD_user_name}, {" uid ", FIELD_user_uid}, {": ", FIELD_query}, {"  ", FIELD_reason, SHOW_PROSE})},
	[EVENT_record_retention] = {STYLE_LOUD, PARTS(
		{"", FIELD_count, SHOW_VALUE, " records were deleted"}, {", from ", FIELD_first}, {" to ", FIELD_last},
		{" by ", FIELD_by, SHOW_PROSE}, {": ", FIELD_reason, SHOW_PROSE})},
	[EVENT_record_hold] = {PARTS({"", FIELD_state}, {" by ", FIELD_by, SHOW_PROSE}, {": ", FIELD_reason, SHOW_PROSE})},
	[EVENT_redact_summary] = {STYLE_POLICY, PARTS({"", FIELD_count, SHOW_VALUE, " cut"}, {": ", FIELD_rules})},
	[EVENT_gap] = {STYLE_LOUD, PARTS({"", FIELD_NONE, SHOW_LOSS})},
	[EVENT_coverage] = {STYLE_LOUD, PARTS({"sensor ", FIELD_sensor}, {" ", FIELD_state}, {": ", FIELD_detail, SHOW_PROSE})},
	[EVENT_clock] = {STYLE_POLICY, PARTS({"the wall clock was stepped by ", FIELD_step_ns, SHOW_DURATION})},
	[EVENT_checkpoint] = {STYLE_DIM, PARTS({"", FIELD_tree_size, SHOW_VALUE, " records"}, {", root ", FIELD_root_hash})},
	[EVENT_secret_give] = {STYLE_POLICY, PARTS(
		{"", FIELD_name}, {" as ", FIELD_given_as}, {" ", FIELD_path}, {", for ", FIELD_as_user},
		{", only for ", FIELD_only}, {", gone after ", FIELD_ttl_ns, SHOW_DURATION})},
	[EVENT_file_final] = {PARTS(
		{"", FIELD_change, SHOW_VALUE, " "}, FILE_PART, {" -> ", FIELD_target}, {"  mode ", FIELD_mode, SHOW_OCTAL},
		{", size ", FIELD_size, SHOW_SIZE}, {", sha256 ", FIELD_sha256}, {", no hash: ", FIELD_unhashed},
		{", was ", FIELD_size_before, SHOW_SIZE}, {", sha256 ", FIELD_sha256_before}, {", no hash: ", FIELD_unhashed_before})},
	[EVENT_secret_expire] = {STYLE_POLICY, PARTS({"", FIELD_name}, {" ", FIELD_path})},
};
/* clang-format on */
