/*
 * The list of formats.
 */
#include "formats.h"

const struct format formats[] = {
	{"perfetto", "Chrome trace JSON, for ui.perfetto.dev", &view_perfetto},
	{"timesketch", "JSON lines for Timesketch", &view_timesketch},
	{"timesketch-csv", "CSV for Timesketch and spreadsheets", &view_timesketch_csv},
	{"asciicast", "what terminals showed, as asciicast v3", &view_asciicast},
	{"asciicast-v2", "the same for older players", &view_asciicast_v2},
	{0},
};

const char *const format_names[] = {"perfetto",	 "timesketch",	 "timesketch-csv",
				    "asciicast", "asciicast-v2", NULL};
