"""The bin of a value."""


def bin_of(value):
    value = min(value, (1 << 32) - 1)
    if value < 32:
        return value
    high = value.bit_length() - 1
    return (high - 4) * 32 + (value >> (high - 5)) % 32
