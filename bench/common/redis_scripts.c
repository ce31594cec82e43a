/* SPDX-License-Identifier: MIT */
/* redis_scripts.c - see redis_scripts.h. One round to the hash reads a budget, one writes it. */
#include "redis_scripts.h"

/*
 * The part that both scripts begin with. look(key, from): the budget as numbers, its limits rolled to this moment;
 * `from` is where the limits begin in ARGV. What rolled is in `set`, the fields to be written, once the call is
 * admitted. charge(b, unit, amount): used, in all buckets of the unit. put(b): writes.
 */
#define COMMON                                                                                                         \
    "local SLICES = 60\n"                                                                                              \
    "local t = redis.call('TIME')\n"                                                                                   \
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"                                                              \
    "local function roll(b, i)\n"                                                                                      \
    "  local l = b.limit[i]\n"                                                                                         \
    "  local bucket = math.floor(now / l.slice)\n"                                                                     \
    "  if bucket <= l.current then return end\n"                                                                       \
    "  local gone = {}\n"                                                                                              \
    "  for n = math.max(l.current, bucket - SLICES) + 1, l.current > 0 and bucket or 0 do\n"                           \
    "    gone[#gone + 1] = 'r' .. i .. ':' .. n % SLICES\n"                                                            \
    "  end\n"                                                                                                          \
    "  local was = #gone > 0 and redis.call('HMGET', b.key, unpack(gone)) or {}\n"                                     \
    "  for n, v in ipairs(was) do\n"                                                                                   \
    "    if v then\n"                                                                                                  \
    "      l.sum = l.sum - tonumber(v)\n"                                                                              \
    "      b.set[gone[n]] = 0\n"                                                                                       \
    "    end\n"                                                                                                        \
    "  end\n"                                                                                                          \
    "  l.current = bucket\n"                                                                                           \
    "  b.set['c' .. i] = bucket\n"                                                                                     \
    "  b.set['s' .. i] = l.sum\n"                                                                                      \
    "end\n"                                                                                                            \
    "local function look(key, from)\n"                                                                                 \
    "  local count = (#ARGV - from + 1) / 3\n"                                                                         \
    "  local fields = {'h1', 'h2', 'h3', 'h4', 'u1', 'u2', 'u3', 'u4'}\n"                                              \
    "  for i = 1, count do\n"                                                                                          \
    "    fields[#fields + 1] = 'c' .. i\n"                                                                             \
    "    fields[#fields + 1] = 's' .. i\n"                                                                             \
    "  end\n"                                                                                                          \
    "  local v = redis.call('HMGET', key, unpack(fields))\n"                                                           \
    "  local b = {key = key, held = {}, used = {}, limit = {}, set = {}}\n"                                            \
    "  for u = 1, 4 do\n"                                                                                              \
    "    b.held[u] = tonumber(v[u] or 0)\n"                                                                            \
    "    b.used[u] = tonumber(v[4 + u] or 0)\n"                                                                        \
    "  end\n"                                                                                                          \
    "  for i = 1, count do\n"                                                                                          \
    "    local at = from + 3 * (i - 1)\n"                                                                              \
    "    b.limit[i] = {unit = tonumber(ARGV[at]), cap = tonumber(ARGV[at + 1]), slice = tonumber(ARGV[at + 2]),\n"     \
    "                  current = tonumber(v[7 + 2 * i] or 0), sum = tonumber(v[8 + 2 * i] or 0)}\n"                    \
    "    if b.limit[i].slice > 0 then roll(b, i) end\n"                                                                \
    "  end\n"                                                                                                          \
    "  return b\n"                                                                                                     \
    "end\n"                                                                                                            \
    "local function charge(b, unit, amount)\n"                                                                         \
    "  if amount == 0 then return end\n"                                                                               \
    "  b.used[unit] = b.used[unit] + amount\n"                                                                         \
    "  b.set['u' .. unit] = b.used[unit]\n"                                                                            \
    "  for i, l in ipairs(b.limit) do\n"                                                                               \
    "    if l.unit == unit then\n"                                                                                     \
    "      l.sum = l.sum + amount\n"                                                                                   \
    "      b.set['s' .. i] = l.sum\n"                                                                                  \
    "      if l.slice > 0 then\n"                                                                                      \
    "        local field = 'r' .. i .. ':' .. l.current % SLICES\n"                                                    \
    "        if b.set[field] then b.set[field] = amount\n"                                                             \
    "        else redis.call('HINCRBY', b.key, field, amount) end\n"                                                   \
    "      end\n"                                                                                                      \
    "    end\n"                                                                                                        \
    "  end\n"                                                                                                          \
    "end\n"                                                                                                            \
    "local function hold(b, unit, amount)\n"                                                                           \
    "  if amount == 0 then return end\n"                                                                               \
    "  b.held[unit] = b.held[unit] + amount\n"                                                                         \
    "  b.set['h' .. unit] = b.held[unit]\n"                                                                            \
    "end\n"                                                                                                            \
    "local function put(b)\n"                                                                                          \
    "  local words = {}\n"                                                                                             \
    "  for field, value in pairs(b.set) do\n"                                                                          \
    "    words[#words + 1] = field\n"                                                                                  \
    "    words[#words + 1] = string.format('%.0f', value)\n"                                                           \
    "  end\n"                                                                                                          \
    "  if #words > 0 then redis.call('HSET', b.key, unpack(words)) end\n"                                              \
    "end\n"

const char redis_script_reserve[] = COMMON
    "local budget = {}\n"
    "for k, key in ipairs(KEYS) do\n"
    "  local b = look(key, 6)\n"
    "  for _, l in ipairs(b.limit) do\n"
    "    if l.sum + b.held[l.unit] + tonumber(ARGV[l.unit]) > l.cap then return 0 end\n"
    "  end\n"
    "  budget[k] = b\n"
    "end\n"
    "for _, b in ipairs(budget) do\n"
    "  hold(b, 1, tonumber(ARGV[1]))\n"
    "  hold(b, 2, tonumber(ARGV[2]))\n"
    "  charge(b, 3, tonumber(ARGV[3]))\n"
    "  hold(b, 4, tonumber(ARGV[4]))\n"
    "  put(b)\n"
    "end\n"
    "local id = redis.call('INCR', 'ids')\n"
    "redis.call('HSET', 'r:' .. id, 'status', 'HELD', 'tokens', ARGV[1], 'cost', ARGV[2], 'due', now + ARGV[5])\n"
    "return id\n";

const char redis_script_settle[] = COMMON "local name = 'r:' .. ARGV[1]\n"
                                          "local r = redis.call('HMGET', name, 'status', 'tokens', 'cost')\n"
                                          "if r[1] ~= 'HELD' then return 0 end\n"
                                          "for _, key in ipairs(KEYS) do\n"
                                          "  local b = look(key, 6)\n"
                                          "  hold(b, 1, -tonumber(r[2]))\n"
                                          "  hold(b, 2, -tonumber(r[3]))\n"
                                          "  hold(b, 4, -1)\n"
                                          "  charge(b, 1, tonumber(ARGV[2]))\n"
                                          "  charge(b, 2, tonumber(ARGV[3]))\n"
                                          "  put(b)\n"
                                          "end\n"
                                          "redis.call('HSET', name, 'status', 'SETTLED')\n"
                                          "redis.call('EXPIRE', name, 300)\n"
                                          "return 1\n";
