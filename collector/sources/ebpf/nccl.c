// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Counts what watched processes hand to NCCL: calls, bytes, and the host time of the calls.
//
// Only the outermost NCCL call of a thread counts, by the rule of cuda.c. The number of ranks of a
// communicator is learned where it is made or asked for; a communicator made before is of unknown size.

#include <uapi/linux/ptrace.h>

struct flight {
	u64 sp;
	u64 began;
	u64 bytes;
	u64 ranks;
	u32 call;
	u32 known;
};

struct slot {
	u32 pid;
	u32 call;
};

struct sum {
	u64 calls;
	u64 bytes;
	u64 whole;   // of the whole buffer of all ranks, where their number was known
	u64 unknown; // bytes of a rank's part, where it was not
	u64 ns;
};

struct communicator {
	u64 pid;
	u64 handle;
};

struct birth {
	u64 handle_at; // where the handle will stand; 0 when `handle` is it
	u64 handle;
	u64 ranks_at;  // where the number of ranks will stand; 0 when `ranks` is it
	u64 ranks;
};

BPF_HASH(watched, u32, u8, WATCHED_MOST);
BPF_HASH(flights, u64, struct flight, 16384);
BPF_HASH(sums, struct slot, struct sum, 4096);
BPF_HASH(births, u64, struct birth, 4096);
BPF_TABLE("lru_hash", struct communicator, u32, sizes, 4096);

static inline int enter(struct pt_regs *ctx, u32 call, u64 count, u32 type, u64 handle)
{
	u64 thread = bpf_get_current_pid_tgid();
	u32 pid = thread >> 32;
	if (!watched.lookup(&pid))
		return 0;
	u64 sp = PT_REGS_SP(ctx);
	struct flight *outer = flights.lookup(&thread);
	if (outer && sp <= outer->sp)
		return 0;
	struct flight flight = {.sp = sp, .call = call, .ranks = 1, .known = 1};
	if (type < TYPES)
		flight.bytes = count * ((TYPE_SIZES >> (4 * type)) & 15);
	if (handle) {
		struct communicator one = {.pid = pid, .handle = handle};
		u32 *size = sizes.lookup(&one);
		flight.known = size != 0;
		flight.ranks = size ? *size : 0;
	}
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
	struct slot slot = {.pid = thread >> 32, .call = flight->call};
	struct sum zero = {};
	struct sum *sum = sums.lookup_or_try_init(&slot, &zero);
	if (sum) {
		u32 result = PT_REGS_RC(ctx);
		lock_xadd(&sum->calls, 1);
		lock_xadd(&sum->ns, now - flight->began);
		// ncclSuccess, or ncclInProgress of a communicator that does not block.
		if (result == 0 || result == 7) {
			lock_xadd(&sum->bytes, flight->bytes);
			if (flight->known)
				lock_xadd(&sum->whole, flight->bytes * flight->ranks);
			else
				lock_xadd(&sum->unknown, flight->bytes);
		}
	}
	flights.delete(&thread);
	return 0;
}

static inline int expect(struct birth *birth)
{
	u64 thread = bpf_get_current_pid_tgid();
	u32 pid = thread >> 32;
	if (watched.lookup(&pid))
		births.update(&thread, birth);
	return 0;
}

// ncclCommInitRank(communicator *, ranks, identity by value, rank)
int comm_init(struct pt_regs *ctx)
{
	struct birth birth = {.handle_at = PT_REGS_PARM1(ctx), .ranks = (u32)PT_REGS_PARM2(ctx)};
	return expect(&birth);
}

// ncclCommCount(communicator, int *)
int comm_count(struct pt_regs *ctx)
{
	struct birth birth = {.handle = PT_REGS_PARM1(ctx), .ranks_at = PT_REGS_PARM2(ctx)};
	return expect(&birth);
}

int comm_known(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct birth *birth = births.lookup(&thread);
	if (!birth)
		return 0;
	struct communicator one = {.pid = thread >> 32, .handle = birth->handle};
	u32 ranks = birth->ranks;
	if (birth->handle_at)
		bpf_probe_read_user(&one.handle, sizeof(one.handle), (void *)birth->handle_at);
	if (birth->ranks_at)
		bpf_probe_read_user(&ranks, sizeof(ranks), (void *)birth->ranks_at);
	u32 result = PT_REGS_RC(ctx);
	if ((result == 0 || result == 7) && ranks)
		sizes.update(&one, &ranks);
	births.delete(&thread);
	return 0;
}

#define ENTRY(name, call, count, type, handle) \
	int name(struct pt_regs *ctx) { return enter(ctx, call, count, type, handle); }

// Handed as (send, receive, count, type, …); a communicator is given where each rank holds but a part.
ENTRY(all_reduce, CALL_ALL_REDUCE, PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), 0)
ENTRY(all_gather, CALL_ALL_GATHER, PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx))
ENTRY(reduce_scatter, CALL_REDUCE_SCATTER, PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM6(ctx))
ENTRY(broadcast, CALL_BROADCAST, PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), 0)
ENTRY(reduce, CALL_REDUCE, PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), 0)
// Handed as (buffer, count, type, …).
ENTRY(broadcast_in_place, CALL_BROADCAST, PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), 0)
ENTRY(send, CALL_SEND, PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), 0)
ENTRY(receive, CALL_RECV, PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), 0)
ENTRY(group_start, CALL_GROUP_START, 0, TYPES, 0)
ENTRY(group_end, CALL_GROUP_END, 0, TYPES, 0)
