"""When jobs start and finish: forward simulation of a plan, prediction intervals, arrivals."""
