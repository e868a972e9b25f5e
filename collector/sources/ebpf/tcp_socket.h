// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What is read of the kernel's TCP sockets and packets, where its own type information says it lies.
//
// No map is used here: bcc gives maps their methods in the main file alone.
//
// Defines: SOCK_… and PACKET_… (offsets, of `socket_layout`).

// A field of one of the kernel's structs, where this kernel keeps it.
#define FIELD(to, from, offset) bpf_probe_read_kernel(&(to), sizeof(to), (void *)((from) + (offset)))

static inline u16 port_of(u64 socket)
{
	u16 port = 0;
	FIELD(port, socket, SOCK_PORT);
	return port;
}

// The peer's address; IPv4 stands as ::ffff:a.b.c.d.
static inline void peer_of(u64 socket, u8 *address)
{
	u16 family = 0;
	FIELD(family, socket, SOCK_FAMILY);
	if (family == AF_INET) {
		address[10] = address[11] = 0xff;
		bpf_probe_read_kernel(address + 12, 4, (void *)(socket + SOCK_PEER));
	} else {
		bpf_probe_read_kernel(address, 16, (void *)(socket + SOCK_PEER6));
	}
}

// Bytes of data in a packet that TCP is about to take: it begins with the TCP header.
static inline u32 data_of(u64 packet)
{
	u32 length = 0;
	u64 head = 0;
	u8 words = 0;
	FIELD(length, packet, PACKET_LENGTH);
	FIELD(head, packet, PACKET_DATA);
	FIELD(words, head, 12);
	return length - (words >> 4) * 4;
}
