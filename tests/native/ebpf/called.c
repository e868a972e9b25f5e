/* A library of one function. */
int called(int argument)
{
	__asm__ volatile("" : : : "memory");
	return argument + 1;
}
