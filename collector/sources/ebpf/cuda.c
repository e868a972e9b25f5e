// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Counts what watched processes ask of the CUDA runtime and driver: calls, bytes by direction, host time.
//
// Only the outermost call of a thread counts: the runtime calls the driver, and some calls call others. What
// is nested is told by the stack: a call made from within another one has a lower stack pointer, or the same
// where the outer one jumps to it as its last act; and the outer one is over when the stack is back at or
// above where it began. A record whose return never came (the thread was unwound past it) is replaced by the
// next call made from higher up, and ended by the next one made from the same height.

#include <uapi/linux/ptrace.h>

struct flight {
	u64 sp;
	u64 began;
	u64 bytes;
	u32 call;
	u32 way;
};

struct slot {
	u32 pid;
	u16 call;
	u16 way;
};

struct sum {
	u64 calls;
	u64 bytes;
	u64 ns;
};

BPF_HASH(watched, u32, u8, WATCHED_MOST);
BPF_HASH(flights, u64, struct flight, 16384);
BPF_HASH(sums, struct slot, struct sum, 8192);

static inline int enter(struct pt_regs *ctx, u32 call, u32 way, u64 bytes)
{
	u64 thread = bpf_get_current_pid_tgid();
	u32 pid = thread >> 32;
	if (!watched.lookup(&pid))
		return 0;
	u64 sp = PT_REGS_SP(ctx);
	struct flight *outer = flights.lookup(&thread);
	if (outer && sp <= outer->sp)
		return 0;
	struct flight flight = {.sp = sp, .bytes = bytes, .call = call, .way = way};
	flight.began = bpf_ktime_get_ns();
	flights.update(&thread, &flight);
	return 0;
}

int leave(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns();
	u64 thread = bpf_get_current_pid_tgid();
	struct flight *flight = flights.lookup(&thread);
	if (!flight || PT_REGS_SP(ctx) < flight->sp)
		return 0;
	struct slot slot = {.pid = thread >> 32, .call = flight->call, .way = flight->way};
	struct sum zero = {};
	struct sum *sum = sums.lookup_or_try_init(&slot, &zero);
	if (sum) {
		lock_xadd(&sum->calls, 1);
		lock_xadd(&sum->ns, now - flight->began);
		// A copy that was refused moved nothing.
		if (PT_REGS_RC(ctx) == 0)
			lock_xadd(&sum->bytes, flight->bytes);
	}
	flights.delete(&thread);
	return 0;
}

// cudaMemcpyKind; its default leaves the direction to the addresses, which say nothing here.
static inline u32 way_of(u32 kind)
{
	switch (kind) {
	case 0:
		return WAY_H2H;
	case 1:
		return WAY_H2D;
	case 2:
		return WAY_D2H;
	case 3:
		return WAY_D2D;
	}
	return WAY_UNKNOWN;
}

#define ENTRY(name, call, way, bytes) \
	int name(struct pt_regs *ctx) { return enter(ctx, call, way, bytes); }

ENTRY(copy_by_kind, CALL_MEMCPY, way_of(PT_REGS_PARM4(ctx)), PT_REGS_PARM3(ctx))
ENTRY(copy_by_kind_async, CALL_MEMCPY_ASYNC, way_of(PT_REGS_PARM4(ctx)), PT_REGS_PARM3(ctx))
ENTRY(copy_h2d, CALL_MEMCPY, WAY_H2D, PT_REGS_PARM3(ctx))
ENTRY(copy_d2h, CALL_MEMCPY, WAY_D2H, PT_REGS_PARM3(ctx))
ENTRY(copy_d2d, CALL_MEMCPY, WAY_D2D, PT_REGS_PARM3(ctx))
ENTRY(copy_unknown, CALL_MEMCPY, WAY_UNKNOWN, PT_REGS_PARM3(ctx))
ENTRY(copy_p2p, CALL_MEMCPY, WAY_P2P, PT_REGS_PARM5(ctx))
ENTRY(copy_h2d_async, CALL_MEMCPY_ASYNC, WAY_H2D, PT_REGS_PARM3(ctx))
ENTRY(copy_d2h_async, CALL_MEMCPY_ASYNC, WAY_D2H, PT_REGS_PARM3(ctx))
ENTRY(copy_d2d_async, CALL_MEMCPY_ASYNC, WAY_D2D, PT_REGS_PARM3(ctx))
ENTRY(copy_unknown_async, CALL_MEMCPY_ASYNC, WAY_UNKNOWN, PT_REGS_PARM3(ctx))
ENTRY(copy_p2p_async, CALL_MEMCPY_ASYNC, WAY_P2P, PT_REGS_PARM5(ctx))
ENTRY(launch, CALL_LAUNCH, WAY_NONE, 0)
ENTRY(graph_launch, CALL_GRAPH_LAUNCH, WAY_NONE, 0)
ENTRY(stream_synchronize, CALL_STREAM_SYNCHRONIZE, WAY_NONE, 0)
ENTRY(device_synchronize, CALL_DEVICE_SYNCHRONIZE, WAY_NONE, 0)
ENTRY(event_synchronize, CALL_EVENT_SYNCHRONIZE, WAY_NONE, 0)
