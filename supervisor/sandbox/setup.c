/*
 * Texts of the steps of the set-up. See setup.h.
 */
#include "setup.h"

static const struct {
	const char *name, *act, *need;
} steps[SETUP_COUNT] = {[SETUP_NONE] = {"", "", ""},
#define STEP(name, act, need) [SETUP_##name] = {#name, act, need},
			SETUP_STEPS(STEP)
#undef STEP
};

const char *setup_step_name(unsigned step)
{
	return step < SETUP_COUNT ? steps[step].name : "";
}

const char *setup_step_act(unsigned step)
{
	return step < SETUP_COUNT ? steps[step].act : "";
}

const char *setup_step_need(unsigned step)
{
	return step < SETUP_COUNT ? steps[step].need : "";
}
