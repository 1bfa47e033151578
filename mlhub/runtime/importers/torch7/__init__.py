"""Torch7 (Lua): its binary serialisation as plain values, and its nn and cudnn modules as torch's."""
