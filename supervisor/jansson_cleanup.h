#pragma once

#include "record/jansson_cleanup.h"
