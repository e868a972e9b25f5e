// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// TCP of the engine's listening ports: packets sent again, and the time from a request's last packet in to the
// first byte of the answer out.
//
// A connection is known by the address of its socket. Each packet of data (tcp_probe) sets the time, so that
// the last one before the answer stands; the first write afterwards (sock_send_length) takes it away, and
// later writes of the same answer count nothing.
//
// The tracepoints are raw ones: others are left out on a processor where any program runs. Of the kernel's structs
// a few fields are read, where its own type information says they are.
//
// Defines: WATCHED_MOST, PORTS_MOST, TENANTS_MOST (entries of the maps); SOCK_… and PACKET_… (offsets).

#include <uapi/linux/ptrace.h>
#include <linux/tcp.h>
#include "tcp_socket.h"

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

// Tenant of a socket's peer; 0: nobody's in particular.
static inline u16 tenant_of(u64 socket)
{
	struct prefix who = {.bits = 128};
	peer_of(socket, who.address);
	u16 *tenant = tenants.lookup(&who);
	return tenant ? *tenant : 0;
}

int on_data(struct bpf_raw_tracepoint_args *args)
{
	u64 socket = args->args[0];
	struct connection *known = connections.lookup(&socket);
	u16 port = known ? known->flow.port : port_of(socket);
	if ((!known && !ports.lookup(&port)) || !data_of(args->args[1]))
		return 0;
	if (known) {
		known->came = bpf_ktime_get_ns();
		return 0;
	}
	struct connection connection = {.flow = {.port = port, .tenant = tenant_of(socket)}};
	connection.came = bpf_ktime_get_ns();
	connections.update(&socket, &connection);
	return 0;
}

int on_sent(struct bpf_raw_tracepoint_args *args)
{
	if ((s32)args->args[1] <= 0)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 socket = args->args[0];
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
int on_state(struct bpf_raw_tracepoint_args *args)
{
	u64 socket = args->args[0];
	if (args->args[2] == TCP_CLOSE)
		connections.delete(&socket);
	return 0;
}

int on_resend(struct bpf_raw_tracepoint_args *args)
{
	u64 socket = args->args[0];
	struct flow flow = {.port = port_of(socket)};
	if (!ports.lookup(&flow.port))
		return 0;
	flow.tenant = tenant_of(socket);
	u64 zero = 0;
	u64 *count = resent.lookup_or_try_init(&flow, &zero);
	if (count)
		lock_xadd(count, 1);
	return 0;
}
