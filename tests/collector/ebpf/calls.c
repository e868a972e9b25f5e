// Counts calls of a function in user space, and system calls of the same process.
BPF_HASH(calls, u32, u64, ENTRIES);
BPF_ARRAY(switches, u64, 1);

int on_call(struct pt_regs *context)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	calls.increment(pid);
	return 0;
}

int on_switch(struct tracepoint__sched__sched_switch *args)
{
	switches.increment(0);
	return 0;
}
