/*
 * The attributes of OCSF's classes that our records fill, by class. The first rows go on in the
 * `actor` that every record begins.
 */
#pragma once

#include "shape.h"

extern const struct shape_row ocsf_session_rows[], ocsf_fork_rows[], ocsf_exec_rows[],
	ocsf_exec_failed_rows[], ocsf_process_rows[], ocsf_file_rows[], ocsf_file_named_rows[],
	ocsf_file_final_rows[], ocsf_outbound_rows[], ocsf_inbound_rows[], ocsf_close_rows[],
	ocsf_unix_rows[], ocsf_tls_rows[], ocsf_verdict_rows[], ocsf_dns_rows[],
	ocsf_package_rows[], ocsf_attempt_rows[], ocsf_limit_rows[], ocsf_stream_rows[],
	ocsf_log_rows[], ocsf_redact_rows[], ocsf_gap_rows[];

/* True if the table has a row for @kind. */
bool ocsf_has_row(enum event_kind kind);
