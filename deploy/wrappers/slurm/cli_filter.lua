-- cli_filter.lua: places gangs of whole GPU nodes when they are submitted (sbatch, salloc, srun). One file for Slurm 22.05,
-- 24.11 and 26.05. It runs in the user's command, so it can neither slow nor harm slurmctld.
--
--   slurm.conf:  CliFilterPlugins=cli_filter/lua          this file stands beside slurm.conf
--
-- A job is left alone when it says itself where it wants to run (nodelist, reservation, constraint, node file), is an array, a
-- part of a heterogeneous job or a step, or names several partitions. RAILMAP_SLURM=off leaves one job alone, and the site when
-- it stands in /etc/railmap/slurm.conf.

local helper = os.getenv("RAILMAP_SLURM_HELPER") or "/usr/lib/railmap/slurm/railmap-slurm"
local conf = os.getenv("RAILMAP_SLURM_CONF") or "/etc/railmap/slurm.conf"
local lease -- file of the lease between the two calls

-- quote makes one word for the shell of any text.
local function quote(s)
  return "'" .. tostring(s):gsub("'", "'\\''") .. "'"
end

-- given is an option, or nil when it is absent or empty.
local function given(options, name)
  local v = options[name]
  if v == nil or v == "" or v == "-1" or v == "unset" or v == "false" then return nil end
  return tostring(v)
end

-- setting is a value of the job's environment or of the site's file.
local function setting(name)
  if os.getenv(name) then return os.getenv(name) end
  local f = io.open(conf, "r")
  if f == nil then return nil end
  local value
  for line in f:lines() do value = line:match("^%s*" .. name .. "=['\"]?([^%s'\"#]+)") or value end
  f:close()
  return value
end

-- gang is the number of nodes when it is one number of at least two.
local function gang(options)
  local low, high = (given(options, "nodes") or ""):match("^(%d+)%-?(%d*)$")
  if low == nil or (high ~= "" and high ~= low) then return nil end
  low = tonumber(low)
  return low >= 2 and low or nil
end

-- gpus tells whether a job asks for GPUs, and how many on each node when it says so.
local function gpus(options)
  for _, name in ipairs({ "gpus-per-node", "gres" }) do
    local v = given(options, name)
    if v and (name ~= "gres" or v:match("gpu")) then
      return true, v:match("^(%d+)$") or v:match("gpu:[^,]-(%d+)$") or v:match(":(%d+)$")
    end
  end
  return given(options, "gpus") or given(options, "gpus-per-task") or given(options, "gpus-per-socket"), nil
end

-- alone tells whether a job is none of ours.
local function alone(options, offset)
  if offset and offset > 0 then return true end
  if setting("RAILMAP_SLURM") == "off" then return true end
  if options["type"] == "srun" and os.getenv("SLURM_JOB_ID") then return true end
  for _, name in ipairs({ "nodelist", "nodefile", "reservation", "constraint", "array", "jobid", "test-only" }) do
    if given(options, name) then return true end
  end
  return (given(options, "partition") or ""):match(",") ~= nil
end

function slurm_cli_setup_defaults(options, early_pass)
  return slurm.SUCCESS
end

local function place(options)
  local nodes = gang(options)
  local want, each = gpus(options)
  if nodes == nil or not (want or setting("RAILMAP_ALL_JOBS")) then return end
  local command = { helper, "place", quote(nodes), quote(each or ""), quote(given(options, "partition") or ""), quote(given(options, "exclude") or "") }
  local p = io.popen(table.concat(command, " "), "r")
  if p == nil then return end
  for line in p:lines() do
    local name, value = line:match("^([a-z]+)=(.+)$")
    if name == "lease" then
      lease = value
    elseif name == "nodelist" or name == "segment" or name == "exclude" then
      options[name] = value
    end
  end
  p:close()
end

-- Whatever goes wrong here, the job is submitted as it was.
function slurm_cli_pre_submit(options, offset)
  pcall(function() if not alone(options, offset) then place(options) end end)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  if lease then
    pcall(os.execute, helper .. " bind " .. quote(lease) .. " " .. quote(string.format("%d", job_id)))
    lease = nil
  end
  return slurm.SUCCESS
end
