"""Tail sampling: which requests are kept, decided when they are over, and what each kept one stands for.

Slow, failed and asked-for requests are kept whole; of the rest a share, chosen by the trace id so that
every service of a trace chooses alike. A kept one of the rest carries its weight; the others are counted.
"""
