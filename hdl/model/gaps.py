"""Due times of a fractional gap, by the formula instead of by adding rounded steps."""


def due(n, whole, numerator, denominator):
    """Ticks from the first departure to the n-th after it."""
    return n * (whole * denominator + numerator) // denominator
