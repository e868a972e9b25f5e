// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TCP of the engine's listening ports: segments sent again, and the time from a request's last packet in to
// the first byte of the answer out.
//
// A connection is known by the address of its socket, which tcp:tcp_probe (a packet of data was taken),
// sock:sock_send_length (a write has ended) and sock:inet_sock_set_state name alike. Each data packet sets
// the time, so that the last one before the answer stands; the first write afterwards takes it away, and
// later writes of the same answer count nothing.

#include <uapi/linux/ptrace.h>
#include <linux/tcp.h>

struct prefix {
	u32 bits;
	u8 address[16];
};

struct flow {
	u16 port;
	u16 tenant;
};

struct connection {
	u64 came;
	struct flow flow;
	u32 unused;
};

struct answers {
	u64 count;
	u64 ns;
};

BPF_HASH(watched, u32, u8, WATCHED_MOST);
BPF_HASH(ports, u16, u8, PORTS_MOST);
BPF_LPM_TRIE(tenants, struct prefix, u16, TENANTS_MOST);
BPF_TABLE("lru_hash", u64, struct connection, connections, 16384);
BPF_HASH(answered, struct flow, struct answers, 4096);
BPF_HASH(resent, struct flow, u64, 4096);

// Tenant of an address; IPv4 stands as ::ffff:a.b.c.d. 0: nobody's in particular.
static inline u16 tenant_of(struct prefix *who)
{
	who->bits = 128;
	u16 *tenant = tenants.lookup(who);
	return tenant ? *tenant : 0;
}

int on_data(struct tracepoint__tcp__tcp_probe *args)
{
	if (!args->data_len)
		return 0;
	u64 socket = (u64)args->skaddr;
	struct connection *known = connections.lookup(&socket);
	if (known) {
		known->came = bpf_ktime_get_ns();
		return 0;
	}
	u16 port = args->sport;
	if (!ports.lookup(&port))
		return 0;
	struct prefix who = {};
	if (args->family == AF_INET) {
		who.address[10] = who.address[11] = 0xff;
		bpf_probe_read_kernel(who.address + 12, 4, (u8 *)args->daddr + 4);
	} else {
		bpf_probe_read_kernel(who.address, 16, (u8 *)args->daddr + 8);
	}
	struct connection connection = {.flow = {.port = port, .tenant = tenant_of(&who)}};
	connection.came = bpf_ktime_get_ns();
	connections.update(&socket, &connection);
	return 0;
}

int on_sent(struct tracepoint__sock__sock_send_length *args)
{
	if (args->protocol != IPPROTO_TCP || args->ret <= 0)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 socket = (u64)args->sk;
	struct connection *connection = connections.lookup(&socket);
	if (!connection || !connection->came)
		return 0;
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	if (!watched.lookup(&pid))
		return 0;
	struct flow flow = connection->flow;
	struct answers zero = {};
	struct answers *sum = answered.lookup_or_try_init(&flow, &zero);
	if (sum) {
		lock_xadd(&sum->count, 1);
		lock_xadd(&sum->ns, now - connection->came);
	}
	connection->came = 0;
	return 0;
}

// The socket's memory is used again: what is known of the old one must not outlive it.
int on_state(struct tracepoint__sock__inet_sock_set_state *args)
{
	if (args->newstate == TCP_CLOSE) {
		u64 socket = (u64)args->skaddr;
		connections.delete(&socket);
	}
	return 0;
}

int on_resend(struct tracepoint__tcp__tcp_retransmit_skb *args)
{
	struct flow flow = {.port = args->sport};
	if (!ports.lookup(&flow.port))
		return 0;
	struct prefix who = {};
	if (args->family == AF_INET) {
		who.address[10] = who.address[11] = 0xff;
		bpf_probe_read_kernel(who.address + 12, 4, (u8 *)args->daddr);
	} else {
		bpf_probe_read_kernel(who.address, 16, (u8 *)args->daddr_v6);
	}
	flow.tenant = tenant_of(&who);
	u64 zero = 0;
	u64 *count = resent.lookup_or_try_init(&flow, &zero);
	if (count)
		lock_xadd(count, 1);
	return 0;
}
