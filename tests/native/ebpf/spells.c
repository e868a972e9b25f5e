/* A known workload: blocks a given number of times for a given reason, and does nothing else that blocks.
 *
 *     spells KIND COUNT [THREADS]
 *
 * It writes a line and waits for one on standard input: then it works, in new threads if THREADS are given.
 * It writes a second line when it is done and waits again with all its threads, so that its numbers can be
 * read while it lives.
 *
 * KIND: sleep, futex, poll, epoll, select, io, network, signal: COUNT waits of 200 us that nothing ends early.
 * spin: COUNT ms of computing in each of the threads, all on processor 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static long count;
static pthread_barrier_t all_done;

static void once(int fd)
{
	struct timespec brief = { 0, 200000 };
	struct itimerspec timer = { .it_value = brief };
	struct timeval tv = { 0, 200 };
	uint32_t word = 7;
	uint64_t expirations;
	struct epoll_event event;
	sigset_t none;
	char byte;

	if (!strcmp(kind, "sleep"))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL);
	else if (!strcmp(kind, "futex"))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, &brief, NULL, 0);
	else if (!strcmp(kind, "poll"))
		ppoll(NULL, 0, &brief, NULL);
	else if (!strcmp(kind, "epoll"))
		epoll_wait(fd, &event, 1, 1);
	else if (!strcmp(kind, "select"))
		select(0, NULL, NULL, NULL, &tv);
	else if (!strcmp(kind, "network"))
		recv(fd, &byte, 1, 0);
	else if (!strcmp(kind, "signal"))
		sigemptyset(&none), sigtimedwait(&none, NULL, &brief);
	else if (!strcmp(kind, "io")) {
		timerfd_settime(fd, 0, &timer, NULL);
		if (read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
			abort();
	} else
		exit(2);
}

static int opened(void)
{
	/* A socket's time-out counts in ticks: 1 ms is the least that surely blocks. */
	struct timeval tv = { 0, 1000 };
	int pair[2];

	if (!strcmp(kind, "epoll"))
		return epoll_create1(0);
	if (!strcmp(kind, "io"))
		return timerfd_create(CLOCK_MONOTONIC, 0);
	if (strcmp(kind, "network"))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return pair[0];
}

static double thread_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void *work(void *unused)
{
	long i;

	(void)unused;
	if (!strcmp(kind, "spin")) {
		while (thread_ms() < count)
			;
	} else {
		int fd = opened();

		for (i = 0; i < count; i++)
			once(fd);
	}
	return NULL;
}

static void *work_and_stay(void *unused)
{
	work(unused);
	pthread_barrier_wait(&all_done);
	for (;;)
		pause();	/* its numbers are read while it lives */
}

static void rendezvous(const char *word)
{
	char byte;

	if (write(1, word, strlen(word)) < 0 || read(0, &byte, 1) < 0)
		exit(3);
}

int main(int argc, char **argv)
{
	long threads = argc > 3 ? atol(argv[3]) : 0, i;
	pthread_t made;
	cpu_set_t first;

	if (argc < 3)
		return 2;
	kind = argv[1];
	count = atol(argv[2]);
	prctl(PR_SET_TIMERSLACK, 1);
	if (!strcmp(kind, "spin")) {
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		sched_setaffinity(0, sizeof(first), &first);
	}
	rendezvous("ready\n");
	if (!threads)
		work(NULL);
	pthread_barrier_init(&all_done, NULL, threads + 1);
	for (i = 0; i < threads; i++)
		pthread_create(&made, NULL, work_and_stay, NULL);
	pthread_barrier_wait(&all_done);
	rendezvous("done\n");
	return 0;
}
