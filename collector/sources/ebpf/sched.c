// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Where the threads of watched processes spend the time in which they do not run: waiting for a processor
// (run queue) or blocked, by the system call in which they blocked. Everything is summed here; user space
// reads the sums.
//
// A thread is in one of three states: running, runnable since, blocked since. All three transitions happen
// under the lock of the thread's run queue, so one entry is never written by two processors at once. The sums
// of a process are shared by its threads and are added to atomically.
//
// The tracepoints are raw ones: the events of others are left out on a processor where any program runs, or
// where a task that reads a map was preempted, and each one left out here would be a wait that is never seen.
// Of the kernel's structs two fields are read, where the running kernel's own type information says they
// are, and the user's registers: headers of another version are enough to compile this.
//
// Defines: PROCESSES, THREADS (entries of the maps); TASK_PID, TASK_STATE (offsets in task_struct);
// STATE_GIVEN if sched_switch says the previous task's state (Linux 5.18); BY_REGISTERS (see system_call).

#include <linux/ptrace.h>
#include <linux/sched.h>

#define OUTSIDE (-1)	// blocked outside of system calls: a page fault
#define STOPPED (-2)	// by a signal or a debugger
#define OCTAVES 40	// 2^40 ns are 18 minutes
#define PER_OCTAVE 4
#define SLOTS (OCTAVES * PER_OCTAVE)

struct thread {
	u32 tgid;
	s32 call;		// system call it is blocked in, or is in at all without BY_REGISTERS
	u64 blocked_since;	// 0: is not blocked, or was before it was watched
	u64 runnable_since;	// 0: does not wait for a processor
	u64 running;
};

struct spell_key {
	u32 tgid;
	s32 call;
};

struct spells {
	u64 count;
	u64 ns;
};

struct waits {
	u64 count;
	u64 ns;
	u64 slots[SLOTS];
};

BPF_HASH(watched, u32, u32, PROCESSES);
BPF_HASH(threads, u32, struct thread, THREADS);
BPF_HASH(blocked, struct spell_key, struct spells, PROCESSES * 64);
BPF_HASH(queued, u32, struct waits, PROCESSES);
// What is missing: 0 threads and 1 spells for which there was no room, 2 switches that the kernel did not tell.
BPF_ARRAY(lost, u64, 3);

static inline void add(u64 *sum, u64 by)
{
	__sync_fetch_and_add(sum, by);
}

static inline void count_lost(int which)
{
	u64 *sum = lost.lookup(&which);

	if (sum)
		add(sum, 1);
}

// Four slots an octave: below 4 ns one slot each, then two bits after the leading one.
static inline u64 slot_of(u64 ns)
{
	u64 octave;

	if (ns < PER_OCTAVE)
		return ns;
	octave = bpf_log2l(ns) - 1;
	return (octave - 1) * PER_OCTAVE + ((ns >> (octave - 2)) & (PER_OCTAVE - 1));
}

static inline void end_wait(struct thread *thread, u64 ns)
{
	struct waits *waits = queued.lookup(&thread->tgid);
	u64 slot;

	thread->runnable_since = 0;
	if (!waits)
		return;	// user space makes the entry before it watches the process
	add(&waits->count, 1);
	add(&waits->ns, ns);
	// 64 bits wide throughout, or the verifier loses sight of the bound.
	slot = slot_of(ns);
	if (slot >= SLOTS)
		slot = SLOTS - 1;
	add(&waits->slots[slot], 1);
}

static inline void end_spell(struct thread *thread, u64 now)
{
	struct spell_key key = { .tgid = thread->tgid, .call = thread->call };
	struct spells none = {};
	struct spells *spells = blocked.lookup_or_try_init(&key, &none);

	if (spells) {
		add(&spells->count, 1);
		add(&spells->ns, now - thread->blocked_since);
	} else {
		count_lost(1);
	}
	thread->blocked_since = 0;
}

#ifdef BY_REGISTERS
// The system call the current thread is in, from the registers it entered the kernel with: costs nothing
// while nobody blocks. On entry by a system call ax holds -ENOSYS until it returns; on entry by a fault
// orig_ax is the fault's error code and ax the program's own.
static inline s32 system_call(struct thread *thread)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	struct {
		u64 ax, cx, dx, si, di, orig_ax;
	} seen = {};

	bpf_probe_read_kernel(&seen, sizeof(seen), (void *)registers + offsetof(struct pt_regs, ax));
	if ((s64)seen.ax != -38 || seen.orig_ax > 4095)
		return OUTSIDE;
	return seen.orig_ax;
}
#else
static inline s32 system_call(struct thread *thread)
{
	return thread->call;
}

int on_enter(struct bpf_raw_tracepoint_args *context)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = threads.lookup(&tid);

	if (thread)
		thread->call = context->args[1];
	return 0;
}

int on_exit_call(struct bpf_raw_tracepoint_args *context)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = threads.lookup(&tid);

	if (thread)
		thread->call = OUTSIDE;
	return 0;
}
#endif

static inline u32 read_u32(u64 task, u32 offset)
{
	u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)(task + offset));
	return value;
}

// A thread stops running that was never told to have begun: a kernel may leave out events while certain
// tasks are current. What it was in has ended: a wait lies somewhere in between (the middle is taken), and of a
// spell the time on the processor after it is the smaller part.
static inline void catch_up(struct thread *thread, u64 now)
{
	if (thread->runnable_since)
		end_wait(thread, (now - thread->runnable_since) / 2);
	else if (thread->blocked_since)
		end_spell(thread, now);
	else
		return;	// it was running when it was found
	count_lost(2);
}

static inline void leave(struct thread *thread, u32 state)
{
	u64 now = bpf_ktime_get_ns();

	if (!thread->running)
		catch_up(thread, now);
	thread->running = 0;
	if (!state) {	// preempted, or it gave way
		thread->runnable_since = now;
		thread->blocked_since = 0;
		return;
	}
	thread->runnable_since = 0;
	thread->blocked_since = now;
#ifdef BY_REGISTERS
	thread->call = state & (__TASK_STOPPED | __TASK_TRACED) ? STOPPED : system_call(thread);
#endif
}

// sched_switch: preempted, the task that leaves (which is the current one), the task that comes, state.
int on_switch(struct bpf_raw_tracepoint_args *context)
{
	u32 tid = bpf_get_current_pid_tgid(), state = 0;
	struct thread *thread = tid ? threads.lookup(&tid) : 0;

	if (thread) {
		if (!context->args[0]) {
#ifdef STATE_GIVEN
			state = context->args[3];
#else
			state = read_u32(context->args[1], TASK_STATE);
#endif
		}
		leave(thread, state);
	}
	tid = read_u32(context->args[2], TASK_PID);
	thread = tid ? threads.lookup(&tid) : 0;
	if (!thread)
		return 0;
	if (thread->runnable_since)
		end_wait(thread, bpf_ktime_get_ns() - thread->runnable_since);
	else if (thread->blocked_since)	// a signal came while it was about to block: it was never woken
		end_spell(thread, bpf_ktime_get_ns());
	thread->blocked_since = 0;
	thread->running = 1;
	return 0;
}

// sched_wakeup and sched_wakeup_new: the task that is woken.
int on_wakeup(struct bpf_raw_tracepoint_args *context)
{
	u32 tid = read_u32(context->args[0], TASK_PID);
	struct thread *thread = threads.lookup(&tid);
	u64 now;

	// One that runs is on its way to block, and now will not.
	if (!thread || thread->running)
		return 0;
	now = bpf_ktime_get_ns();
	if (thread->blocked_since)
		end_spell(thread, now);
	if (!thread->runnable_since)
		thread->runnable_since = now;
	return 0;
}

// task_newtask: the new task, its flags. A new thread of a watched process is known before it first runs.
int on_new(struct bpf_raw_tracepoint_args *context)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct thread thread = { .tgid = tgid, .call = OUTSIDE };
	u32 tid;

	if (!(context->args[1] & CLONE_THREAD) || !watched.lookup(&tgid))
		return 0;
	tid = read_u32(context->args[0], TASK_PID);
	if (threads.insert(&tid, &thread))
		count_lost(0);
	return 0;
}

// sched_process_exit: the current task ends.
int on_end(struct bpf_raw_tracepoint_args *context)
{
	u32 tid = bpf_get_current_pid_tgid();

	threads.delete(&tid);
	return 0;
}
