// SPDX-License-Identifier: GPL-2.0
/* The one place where the shared maps are defined. */
#define MAP
#define MAPS_HERE
#include "maps.h"

#include "credentials.h"
#include "entry.h"
#include "file_maps.h"
#include "net.h"
#include "notes.h"

char LICENSE[] SEC("license") = "GPL";
