/*
 * The account. A lane is one class on one CPU: its numbers follow one another, but for a few open
 * holes.
 */
#include "account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOLES_MAX 8
#define FINAL_DRAINS 2
#define REFRESH_DRAINS 64 /* how often losses without a number are looked for */

struct hole {
	uint64_t first, last;
	uint64_t drain; /* in which it appeared */
	uint64_t boot_ns;
};

struct lane {
	uint64_t base, next;
	uint64_t lost;	  /* numbers declared lost */
	uint64_t unknown; /* of these, without a loss that the kernel had counted by then */
	uint64_t base_losses[LOSS_REASON_COUNT];
	uint64_t explained[LOSS_REASON_COUNT]; /* losses that a gap record has told */
	uint64_t seen[LOSS_REASON_COUNT];      /* losses that the kernel has counted */
	uint32_t hole_count;
	struct hole holes[HOLES_MAX]; /* by number */
};

struct total {
	uint64_t records; /* that came, chunks not counted */
	uint64_t chunks;
	uint64_t filtered;
	uint64_t spoiled;
	uint64_t unnumbered;
	uint64_t extra; /* numbers below the base, or that came twice */
};

struct account {
	struct account_options options;
	uint64_t drain;
	uint64_t open_holes;
	bool is_fresh; /* the losses were read in this drain */
	struct total totals[WIRE_CLASS_COUNT];
	uint64_t *losses, *numbers; /* as read last; the second stand behind the first */
	struct lane *lanes;	    /* [class][cpu] */
};

static const char *const reason_names[LOSS_REASON_COUNT] = {
	[LOSS_RING_FULL] = "ring_full",
	[LOSS_MAP_FULL] = "map_full",
	[LOSS_FAULT] = "fault",
	[LOSS_BUSY] = "busy",
};

static struct lane *lane_at(struct account *a, uint32_t class, uint32_t cpu)
{
	return &a->lanes[class * a->options.cpus + cpu];
}

static size_t lane_count(const struct account *a)
{
	return (size_t)WIRE_CLASS_COUNT * a->options.cpus;
}

/* ---- what the kernel has counted ---- */

static int read_losses(struct account *a)
{
	const uint64_t *value = a->losses;
	int r = a->options.losses(a->options.context, a->losses);
	if (r < 0)
		return r;

	for (uint32_t class = 0; class < WIRE_CLASS_COUNT; class ++)
		for (uint32_t reason = 0; reason < LOSS_REASON_COUNT; reason++)
			for (uint32_t cpu = 0; cpu < a->options.cpus; cpu++) {
				struct lane *lane = lane_at(a, class, cpu);

				lane->seen[reason] = *value++ - lane->base_losses[reason];
			}
	a->is_fresh = true;
	return 0;
}

static int read_base(struct account *a)
{
	int r = read_losses(a);
	if (r == 0)
		r = a->options.numbers(a->options.context, a->numbers);
	if (r < 0)
		return r;

	for (size_t i = 0; i < lane_count(a); i++) {
		struct lane *lane = &a->lanes[i];

		lane->base = lane->next = a->numbers[i];
		memcpy(lane->base_losses, lane->seen, sizeof(lane->base_losses));
		memset(lane->seen, 0, sizeof(lane->seen));
	}
	a->is_fresh = false;
	return 0;
}

int account_new(const struct account_options *options, struct account **ret_account)
{
	struct account *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;

	a->options = *options;
	a->losses = calloc(lane_count(a) * (LOSS_REASON_COUNT + 1), sizeof(*a->losses));
	a->lanes = calloc(lane_count(a), sizeof(*a->lanes));
	a->numbers = a->losses ? a->losses + lane_count(a) * LOSS_REASON_COUNT : NULL;
	int r = a->losses && a->lanes ? read_base(a) : -ENOMEM;
	if (r < 0) {
		account_free(a);
		return r;
	}
	*ret_account = a;
	return 0;
}

void account_free(struct account *a)
{
	if (!a)
		return;
	free(a->losses);
	free(a->lanes);
	free(a);
}

/* ---- holes ---- */

static void remove_hole(struct account *a, struct lane *lane, uint32_t i)
{
	memmove(&lane->holes[i], &lane->holes[i + 1],
		(lane->hole_count - i - 1) * sizeof(lane->holes[0]));
	lane->hole_count--;
	a->open_holes--;
}

static uint64_t unexplained(const struct lane *lane, enum loss_reason reason)
{
	return lane->seen[reason] - lane->explained[reason];
}

/* Losses with a number that no gap has told yet. */
static uint64_t unexplained_numbered(const struct lane *lane)
{
	return unexplained(lane, LOSS_RING_FULL) + unexplained(lane, LOSS_FAULT) +
	       unexplained(lane, LOSS_BUSY);
}

/* The reason, of those that take a number, with most losses not told yet. */
static enum loss_reason main_reason(const struct lane *lane)
{
	static const enum loss_reason numbered[] = {LOSS_RING_FULL, LOSS_FAULT, LOSS_BUSY};
	enum loss_reason best = numbered[0];

	for (size_t i = 1; i < sizeof(numbered) / sizeof(numbered[0]); i++)
		if (unexplained(lane, numbered[i]) > unexplained(lane, best))
			best = numbered[i];
	return best;
}

/* Take @count losses off those not told yet; the reason that had most of them names the gap. */
static const char *explain(struct lane *lane, uint64_t count)
{
	enum loss_reason reason = main_reason(lane);
	const char *name = unexplained(lane, reason) > 0 ? reason_names[reason] : "unknown";

	while (count > 0 && unexplained(lane, reason) > 0) {
		uint64_t there = unexplained(lane, reason);
		uint64_t told = there < count ? there : count;

		lane->explained[reason] += told;
		count -= told;
		reason = main_reason(lane);
	}
	lane->unknown += count;
	return name;
}

/* Which lane this is: its class and CPU. */
static struct account_gap gap_of(const struct account *a, const struct lane *lane)
{
	size_t index = lane - a->lanes;

	return (struct account_gap){
		.class = index / a->options.cpus,
		.cpu = index % a->options.cpus,
	};
}

static int close_hole(struct account *a, struct lane *lane, uint32_t i)
{
	struct account_gap gap = gap_of(a, lane);
	const struct hole *hole = &lane->holes[i];

	gap.numbered = true;
	gap.first = hole->first;
	gap.last = hole->last;
	gap.count = hole->last - hole->first + 1;
	gap.boot_ns = hole->boot_ns;
	gap.reason = explain(lane, gap.count);
	lane->lost += gap.count;
	remove_hole(a, lane, i);
	return a->options.gap(a->options.context, &gap);
}

static void insert_hole(struct account *a, struct lane *lane, uint32_t at, struct hole hole)
{
	memmove(&lane->holes[at + 1], &lane->holes[at],
		(lane->hole_count - at) * sizeof(lane->holes[0]));
	lane->holes[at] = hole;
	lane->hole_count++;
	a->open_holes++;
}

/* The oldest hole gives way to a new one: many numbers have come since. */
static int make_room(struct account *a, struct lane *lane, uint32_t victim)
{
	int r = 0;

	if (lane->hole_count < HOLES_MAX)
		return 0;
	if (!a->is_fresh)
		r = read_losses(a);
	return r < 0 ? r : close_hole(a, lane, victim);
}

static int open_hole(struct account *a, struct lane *lane, uint64_t first, uint64_t last,
		     uint64_t boot_ns)
{
	int r = make_room(a, lane, 0);

	if (lane->hole_count < HOLES_MAX)
		insert_hole(a, lane, lane->hole_count,
			    (struct hole){first, last, a->drain, boot_ns});
	return r;
}

/* A number from the middle of hole @i came. */
static int split_hole(struct account *a, struct lane *lane, uint32_t i, uint64_t number)
{
	struct hole above = lane->holes[i];

	above.first = number + 1;
	lane->holes[i].last = number - 1;
	uint32_t before = lane->hole_count;
	int r = make_room(a, lane, i);
	insert_hole(a, lane, lane->hole_count < before ? i : i + 1, above);
	return r;
}

/* A number was declared lost and came all the same: some loss told for it is still to be told. */
static void take_back(struct account *a, struct lane *lane)
{
	if (lane->lost == 0) {
		a->totals[gap_of(a, lane).class].extra++;
		return;
	}
	lane->lost--;
	if (lane->unknown > 0)
		lane->unknown--;
	else if (lane->explained[LOSS_RING_FULL] > 0)
		lane->explained[LOSS_RING_FULL]--;
}

/* A number below the next one: it fills a hole, or part of one. */
static int fill_hole(struct account *a, struct lane *lane, uint64_t number)
{
	for (uint32_t i = 0; i < lane->hole_count; i++) {
		struct hole *hole = &lane->holes[i];

		if (number < hole->first || number > hole->last)
			continue;
		if (hole->first == hole->last)
			remove_hole(a, lane, i);
		else if (number == hole->first)
			hole->first++;
		else if (number == hole->last)
			hole->last--;
		else
			return split_hole(a, lane, i, number);
		return 0;
	}
	take_back(a, lane);
	return 0;
}

/* ---- records ---- */

void account_expect(struct account *a, const struct wire_head *head)
{
	if (head->class >= WIRE_CLASS_COUNT || head->cpu >= a->options.cpus)
		return;

	struct lane *lane = lane_at(a, head->class, head->cpu);
	if (head->number < lane->base)
		lane->base = lane->next = head->number;
}

int account_record(struct account *a, const struct wire_head *head)
{
	if (head->class >= WIRE_CLASS_COUNT || head->cpu >= a->options.cpus)
		return -EBADMSG;

	struct lane *lane = lane_at(a, head->class, head->cpu);
	struct total *total = &a->totals[head->class];
	uint64_t number = head->number;
	int r = 0;

	if (head->kind == WIRE_KIND_chunk)
		total->chunks++;
	else
		total->records++;

	if (number >= lane->next) {
		uint64_t first = lane->next;

		lane->next = number + 1;
		if (number > first)
			r = open_hole(a, lane, first, number - 1, head->boot_ns);
	} else if (number < lane->base) {
		total->extra++;
	} else {
		r = fill_hole(a, lane, number);
	}
	return r;
}

void account_unwritten(struct account *a, const struct wire_head *head)
{
	struct total *total = &a->totals[head->class];

	/* Continuations are not counted; the record that they belong to is. */
	if (head->kind == WIRE_KIND_chunk)
		return;
	total->records--;
	total->spoiled++;
}

int account_spoiled(struct account *a, const struct wire_head *head, const char *reason)
{
	struct account_gap gap = {
		.class = head->class,
		.cpu = head->cpu,
		.count = 1,
		.numbered = true,
		.first = head->number,
		.last = head->number,
		.reason = reason,
		.boot_ns = head->boot_ns,
	};

	account_unwritten(a, head);
	return a->options.gap(a->options.context, &gap);
}

void account_filtered(struct account *a, enum wire_class class, uint64_t count)
{
	a->totals[class].filtered += count;
}

/* ---- settling ---- */

static int settle_lane(struct account *a, struct lane *lane, bool all)
{
	for (uint32_t i = 0; i < lane->hole_count;) {
		const struct hole *hole = &lane->holes[i];
		uint64_t age = a->drain - hole->drain;
		uint64_t count = hole->last - hole->first + 1;

		if (!all && (age < FINAL_DRAINS ||
			     (age < ACCOUNT_PATIENCE && unexplained_numbered(lane) < count))) {
			i++;
			continue;
		}
		int r = close_hole(a, lane, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Losses of @reason that no hole accounts for. */
static int tell_unnumbered(struct account *a, struct lane *lane, enum loss_reason reason)
{
	struct account_gap gap = gap_of(a, lane);

	gap.count = unexplained(lane, reason);
	if (reason != LOSS_MAP_FULL) {
		/* What was told as unknown before the kernel had counted it. */
		uint64_t told = gap.count < lane->unknown ? gap.count : lane->unknown;

		lane->unknown -= told;
		lane->explained[reason] += told;
		gap.count -= told;
	}
	if (gap.count == 0)
		return 0;
	gap.reason = reason_names[reason];
	lane->explained[reason] += gap.count;
	a->totals[gap.class].unnumbered += gap.count;
	return a->options.gap(a->options.context, &gap);
}

int account_settle(struct account *a)
{
	a->drain++;
	a->is_fresh = false;
	bool is_due = a->drain % REFRESH_DRAINS == 0;
	if (a->open_holes == 0 && !is_due)
		return 0;

	int r = read_losses(a);
	for (size_t i = 0; i < lane_count(a) && r >= 0; i++) {
		r = settle_lane(a, &a->lanes[i], false);
		if (r >= 0 && is_due)
			r = tell_unnumbered(a, &a->lanes[i], LOSS_MAP_FULL);
	}
	a->is_fresh = false;
	return r;
}

static int open_trailing_holes(struct account *a)
{
	int r = a->options.numbers(a->options.context, a->numbers);

	for (size_t i = 0; i < lane_count(a) && r == 0; i++) {
		struct lane *lane = &a->lanes[i];
		uint64_t first = lane->next;

		if (a->numbers[i] <= first)
			continue;
		lane->next = a->numbers[i];
		r = open_hole(a, lane, first, lane->next - 1, 0);
	}
	return r;
}

int account_finish(struct account *a)
{
	int r = open_trailing_holes(a);
	if (r < 0)
		return r;
	r = read_losses(a);

	for (size_t i = 0; i < lane_count(a) && r >= 0; i++) {
		r = settle_lane(a, &a->lanes[i], true);
		for (uint32_t reason = 0; reason < LOSS_REASON_COUNT && r >= 0; reason++)
			r = tell_unnumbered(a, &a->lanes[i], reason);
	}
	return r;
}

int account_has_losses(struct account *a)
{
	int r = read_losses(a);
	if (r < 0)
		return r;

	for (size_t i = 0; i < lane_count(a); i++)
		if (unexplained_numbered(&a->lanes[i]) > a->lanes[i].unknown ||
		    unexplained(&a->lanes[i], LOSS_MAP_FULL) > 0)
			return 1;
	return 0;
}

bool account_is_open(const struct account *a)
{
	return a->open_holes > 0;
}

uint64_t account_settled(const struct account *a, enum wire_class class)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < a->options.cpus; cpu++) {
		const struct lane *lane = &a->lanes[class * a->options.cpus + cpu];

		sum += lane->next;
		for (uint32_t i = 0; i < lane->hole_count; i++)
			sum -= lane->holes[i].last - lane->holes[i].first + 1;
	}
	return sum;
}

struct account_counts account_counts(const struct account *a, enum wire_class class)
{
	const struct total *total = &a->totals[class];
	uint64_t taken = total->extra, never_came = 0;

	for (uint32_t cpu = 0; cpu < a->options.cpus; cpu++) {
		const struct lane *lane = &a->lanes[class * a->options.cpus + cpu];

		taken += lane->next - lane->base;
		never_came += lane->lost;
		for (uint32_t i = 0; i < lane->hole_count; i++)
			never_came += lane->holes[i].last - lane->holes[i].first + 1;
	}
	return (struct account_counts){
		.produced = taken - total->chunks - total->filtered + total->unnumbered,
		.journaled = total->records - total->filtered,
		.lost = never_came + total->spoiled + total->unnumbered,
	};
}
