/* Sends packets with given headers at given times, and records what arrives at a device.
 *
 *     probe send SCRIPT OUT     lines: time_us id source destination protocol tos bytes port ack
 *     probe recv DEVICE OUT     until nothing has come for two seconds after the first packet
 *
 * Addresses are numbers of hosts: 10.8.0.N sends, 10.9.0.N receives. Protocol 17 is a datagram, 6 a TCP ACK without data.
 * SCRIPT's packets are written with the time at which each was handed over, and DEVICE's with that of its arrival and its
 * traffic class, both in ns of the same clock.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct line { long us; unsigned id, from, to, protocol, tos, bytes, port, ack; };

static int64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int send_script(const char *script, const char *out)
{
	static struct line lines[20000];
	static int64_t sent[20000];
	static unsigned char packet[1500];
	int count = 0, all = IP_PMTUDISC_DONT;
	FILE *in = fopen(script, "r"), *result = fopen(out, "w");
	int socket_ = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (!in || !result || socket_ < 0)
		return fail("send");
	setsockopt(socket_, IPPROTO_IP, IP_MTU_DISCOVER, &all, sizeof(all));
	all = 64 << 20;
	setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &all, sizeof(all));
	for (struct line *l = lines; count < 20000; l++, count++)
		if (fscanf(in, "%ld %u %u %u %u %u %u %u %u", &l->us, &l->id, &l->from, &l->to, &l->protocol, &l->tos, &l->bytes,
			   &l->port, &l->ack) != 9)
			break;
	int64_t start = now(CLOCK_MONOTONIC) + 50000000;
	for (int i = 0; i < count; i++) {
		struct line *l = &lines[i];
		struct iphdr *ip = (void *)packet;
		struct sockaddr_in to = { .sin_family = AF_INET };
		int64_t due = start + l->us * 1000LL;
		struct timespec until = { due / 1000000000, due % 1000000000 };
		memset(packet, 0, sizeof(packet));
		*ip = (struct iphdr){ .version = 4, .ihl = 5, .tos = l->tos, .tot_len = htons(l->bytes), .id = htons(l->id),
				      .ttl = 64, .protocol = l->protocol, .saddr = htonl(0x0a080000 + l->from),
				      .daddr = htonl(0x0a090000 + l->to) };
		to.sin_addr.s_addr = ip->daddr;
		if (l->protocol == IPPROTO_TCP) {
			struct tcphdr *tcp = (void *)(packet + 20);
			*tcp = (struct tcphdr){ .source = htons(l->port), .dest = htons(80), .doff = 5, .ack = 1, .seq = htonl(1),
						.ack_seq = htonl(l->ack), .window = htons(1000) };
		} else {
			struct udphdr *udp = (void *)(packet + 20);
			*udp = (struct udphdr){ .source = htons(l->port), .dest = htons(9), .len = htons(l->bytes - 20) };
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		sent[i] = now(CLOCK_MONOTONIC);
		if (sendto(socket_, packet, l->bytes, 0, (void *)&to, sizeof(to)) < 0)
			sent[i] = -1;
	}
	for (int i = 0; i < count; i++)
		fprintf(result, "%u %lld\n", lines[i].id, (long long)sent[i]);
	return 0;
}

static int receive(const char *device, const char *out)
{
	unsigned char packet[128];
	char control[256];
	int on = 1, room = 256 << 20, count = 0;
	FILE *result = fopen(out, "w");
	int socket_ = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
				  .sll_ifindex = if_nametoindex(device) };
	if (!result || socket_ < 0 || bind(socket_, (void *)&at, sizeof(at)))
		return fail("recv");
	setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	int64_t ahead = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	struct pollfd ready = { socket_, POLLIN, 0 };
	while (poll(&ready, 1, count ? 2000 : 20000) > 0) {
		struct iovec into = { packet, sizeof(packet) };
		struct msghdr message = { .msg_iov = &into, .msg_iovlen = 1, .msg_control = control,
					  .msg_controllen = sizeof(control) };
		struct iphdr *ip = (void *)packet;
		int64_t when = 0;
		if (recvmsg(socket_, &message, 0) < 20 || (ntohl(ip->daddr) >> 16) != 0x0a09)
			continue;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
				struct timespec t;
				memcpy(&t, CMSG_DATA(c), sizeof(t));
				when = t.tv_sec * 1000000000LL + t.tv_nsec - ahead;
			}
		fprintf(result, "%u %lld %u\n", ntohs(ip->id), (long long)when, ip->tos);
		count++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "send"))
		return send_script(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "recv"))
		return receive(argv[2], argv[3]);
	fprintf(stderr, "usage: probe send SCRIPT OUT | probe recv DEVICE OUT\n");
	return 2;
}
