-- An operator that runs is Healthy, with a message if its update is held or waits for approval: Suspended and Progressing
-- would keep the next sync wave from starting.
local status = obj.status or {}
local conditions = {}
for _, c in ipairs(status.conditions or {}) do
  conditions[c.type] = c
end
local function is(type)
  return conditions[type] ~= nil and conditions[type].status == "True"
end
local function message(type)
  local c = conditions[type]
  if c.message ~= nil and c.message ~= "" then
    return type .. ": " .. c.message
  end
  return type .. ": " .. (c.reason or "")
end

-- OLM reports an update that an UpgradeHold denies as an error.
local unpack = conditions.BundleUnpackFailed
local held = unpack ~= nil and unpack.status == "True" and unpack.reason == "EnsureInstallPlanFailed" and
  string.find(unpack.message or "", "hold-installplans' denied request: The update to ", 1, true) ~= nil
if held then
  conditions.BundleUnpackFailed = nil
end
for _, type in ipairs({"InstalledCSVFailed", "InstallPlanFailed", "BundleUnpackFailed", "CatalogSourceInvalid", "PackageChannelInvalid",
  "ResolutionFailed", "InstalledCSVMissing"}) do
  if is(type) then
    return {status = "Degraded", message = message(type)}
  end
end
local waits = {[""] = true, InstallPlanNotYetReconciled = true, Planning = true, RequiresApproval = true, Installing = true,
  InstallPlanPending = true}
if is("InstallPlanPending") and not waits[conditions.InstallPlanPending.reason or ""] then
  return {status = "Degraded", message = message("InstallPlanPending")}
end
local installed = status.installedCSV ~= nil and status.installedCSV ~= ""
for _, type in ipairs({"UpgradeHeld", "InstallPlanAwaitingManualApproval"}) do
  if is(type) then
    return {status = installed and "Healthy" or "Progressing", message = message(type)}
  end
end
if held then
  return {status = installed and "Healthy" or "Progressing", message = unpack.message}
end
if status.state == "AtLatestKnown" and installed then
  return {status = "Healthy", message = status.installedCSV .. " is installed"}
end
return {status = "Progressing", message = status.message or "The operator is being installed or updated"}
