// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How long a packet of the engine's ports waits between its arrival at an interface and the read that takes it.
//
// The classifier looks and lets everything pass: its one verdict leaves the packet to whoever comes next. A
// read takes all packets of its connection that have come before it, so a sum of arrivals is enough: n packets
// that came at t1 … tn and are read at t have waited n·t − Σ ti. Times count from the first, against overflow.
//
// Raw tracepoints, fields of the kernel's structs and defines are as in tcp.c.

#include <uapi/linux/bpf.h>
#include <uapi/linux/if_ether.h>
#include <uapi/linux/in.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include "tcp_socket.h"

#define PASS (-1) // TC_ACT_UNSPEC, and TCX_NEXT: no verdict of ours

struct prefix {
	u32 bits;
	u8 address[16];
};

struct end {
	u8 address[16];
	u16 peer;
	u16 port;
};

struct flow {
	u16 port;
	u16 tenant;
};

struct waiting {
	u64 first;
	u64 after; // Σ (arrival − first)
	u64 packets;
	u32 next; // sequence number after all data that has come
	u32 unused;
};

struct delay {
	u64 packets;
	u64 ns;
};

BPF_HASH(watched, u32, u8, WATCHED_MOST);
BPF_HASH(ports, u16, u8, PORTS_MOST);
BPF_LPM_TRIE(tenants, struct prefix, u16, TENANTS_MOST);
BPF_TABLE("lru_hash", struct end, struct waiting, unread, 16384);
BPF_TABLE("lru_hash", u64, struct end, sockets, 16384);
BPF_HASH(delays, struct flow, struct delay, 4096);

static inline int arrived(struct end *end, u32 next)
{
	u64 now = bpf_ktime_get_ns();
	struct waiting *waiting = unread.lookup(end);
	if (!waiting) {
		struct waiting first = {.first = now, .packets = 1, .next = next};
		unread.update(end, &first);
		return PASS;
	}
	// Sent again although it had come: no reader waits for it.
	if ((s32)(next - waiting->next) <= 0)
		return PASS;
	waiting->next = next;
	if (waiting->packets) {
		lock_xadd(&waiting->after, now - waiting->first);
	} else {
		waiting->first = now;
		waiting->after = 0;
	}
	lock_xadd(&waiting->packets, 1);
	return PASS;
}

static inline int of_tcp(struct __sk_buff *skb, struct end *end, u32 at, u32 stop)
{
	u8 head[14];
	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return PASS;
	end->peer = head[0] << 8 | head[1];
	end->port = head[2] << 8 | head[3];
	if (!ports.lookup(&end->port))
		return PASS;
	if (head[13] & 2) // SYN: its numbers begin anew
		unread.delete(end);
	u32 data = at + (head[12] >> 4) * 4;
	// An acknowledgement alone wakes no reader.
	if (stop <= data)
		return PASS;
	u32 from = (u32)head[4] << 24 | (u32)head[5] << 16 | (u32)head[6] << 8 | head[7];
	return arrived(end, from + stop - data);
}

int classify(struct __sk_buff *skb)
{
	struct end end = {};
	if (skb->protocol == htons(ETH_P_IP)) {
		u8 start[10];
		if (bpf_skb_load_bytes(skb, ETH_HLEN, start, 10) || start[9] != IPPROTO_TCP)
			return PASS;
		end.address[10] = end.address[11] = 0xff;
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 12, end.address + 12, 4))
			return PASS;
		u32 length = start[2] << 8 | start[3];
		// A length of 0 is a packet put together beyond 64 KiB: full of data.
		u32 stop = length ? ETH_HLEN + length : skb->len;
		return of_tcp(skb, &end, ETH_HLEN + (start[0] & 15) * 4, stop);
	}
	if (skb->protocol == htons(ETH_P_IPV6)) {
		u8 start[7];
		if (bpf_skb_load_bytes(skb, ETH_HLEN, start, 7) || start[6] != IPPROTO_TCP)
			return PASS;
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 8, end.address, 16))
			return PASS;
		u32 length = start[4] << 8 | start[5];
		u32 stop = length ? ETH_HLEN + 40 + length : skb->len;
		return of_tcp(skb, &end, ETH_HLEN + 40, stop);
	}
	return PASS;
}

// Which socket a flow's packets end in: known from its first data on, before anybody reads it.
int on_data(struct bpf_raw_tracepoint_args *args)
{
	u64 socket = args->args[0];
	struct end end = {.port = port_of(socket)};
	if (!ports.lookup(&end.port) || sockets.lookup(&socket) || !data_of(args->args[1]))
		return 0;
	FIELD(end.peer, socket, SOCK_PEER_PORT);
	end.peer = ntohs(end.peer);
	peer_of(socket, end.address);
	sockets.update(&socket, &end);
	return 0;
}

int on_read(struct bpf_raw_tracepoint_args *args)
{
	if ((s32)args->args[1] <= 0 || args->args[2] & MSG_PEEK)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u64 socket = args->args[0];
	struct end *known = sockets.lookup(&socket);
	if (!known)
		return 0;
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	if (!watched.lookup(&pid))
		return 0;
	struct end end = *known;
	struct waiting *waiting = unread.lookup(&end);
	if (!waiting || !waiting->packets)
		return 0;
	struct prefix who = {.bits = 128};
	__builtin_memcpy(who.address, end.address, 16);
	u16 *tenant = tenants.lookup(&who);
	struct flow flow = {.port = end.port, .tenant = tenant ? *tenant : 0};
	struct delay zero = {};
	struct delay *sum = delays.lookup_or_try_init(&flow, &zero);
	if (sum) {
		lock_xadd(&sum->packets, waiting->packets);
		lock_xadd(&sum->ns, (now - waiting->first) * waiting->packets - waiting->after);
	}
	waiting->packets = 0;
	return 0;
}

int on_state(struct bpf_raw_tracepoint_args *args)
{
	u64 socket = args->args[0];
	struct end *end = args->args[2] == TCP_CLOSE ? sockets.lookup(&socket) : 0;
	if (end) {
		struct end gone = *end;
		unread.delete(&gone);
		sockets.delete(&socket);
	}
	return 0;
}
