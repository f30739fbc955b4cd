-- A Probe that reads custom resources, or finds none, is Healthy, also while it holds the updates of its operator. One that
-- its operator writes has no Synced.
local conditions = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do
  conditions[c.type] = c
end
local synced, upgradeable = conditions.Synced or {}, conditions.Upgradeable or {}
local absent = {ResourceNotFound = true, NamespaceNotFound = true}
if (synced.status or upgradeable.status) == nil or synced.reason == "Syncing" or synced.reason == "Pending" then
  return {status = "Progressing", message = synced.message or "The custom resources are being read"}
elseif (synced.status or "True") ~= "True" and not absent[synced.reason or ""] then
  return {status = "Degraded", message = synced.message}
elseif upgradeable.status == "False" then
  return {status = "Healthy", message = "Updates of the operator are held: " .. (upgradeable.message or "")}
end
return {status = "Healthy", message = upgradeable.message}
