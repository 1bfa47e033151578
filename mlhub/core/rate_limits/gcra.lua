-- SPDX-License-Identifier: Apache-2.0
-- Charges all subjects of one request, or none: the arithmetic of buckets.py on numbers that all processes share.
-- KEYS[i]: the time (microseconds since the epoch) at which the subject's budget is whole again.
-- ARGV: cost, then for each key its interval and window in microseconds, and its group of alternatives.
-- Returns for each key: microseconds until it is whole, microseconds to wait, and 1 when it was chosen of its group.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local cost = tonumber(ARGV[1])
local ahead, interval, window, group, chosen = {}, {}, {}, {}, {}

for i, key in ipairs(KEYS) do
  ahead[i] = math.max(0, tonumber(redis.call('GET', key) or '0') - now)
  interval[i], window[i] = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  group[i] = ARGV[3 * i + 1]
  local best = chosen[group[i]]
  if best == nil or ahead[i] / window[i] < ahead[best] / window[best] then
    chosen[group[i]] = i
  end
end

local is_admitted, wait = true, {}
for i = 1, #KEYS do
  wait[i] = 0
  if chosen[group[i]] == i then
    wait[i] = math.max(0, ahead[i] + cost * interval[i] - window[i])
    is_admitted = is_admitted and wait[i] == 0
  end
end

local answer = {}
for i, key in ipairs(KEYS) do
  local is_chosen = chosen[group[i]] == i
  if is_admitted and is_chosen and cost > 0 then
    ahead[i] = ahead[i] + cost * interval[i]
    -- a plain number would be written with 14 digits
    redis.call('SET', key, string.format('%.0f', now + ahead[i]), 'PX', math.ceil(ahead[i] / 1000))
  end
  answer[i] = {ahead[i], wait[i], is_chosen and 1 or 0}
end
return answer
