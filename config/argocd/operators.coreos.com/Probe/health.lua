-- A Probe that reads custom resources, or finds none, is Healthy, also while it holds the updates of its operator. One that
-- its operator writes has no Synced. Important conditions come first in the message.
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
end
local message = upgradeable.message or ""
if upgradeable.status == "False" then
  message = "Updates of the operator are held: " .. message
end
local important = conditions.Important or {}
if important.status == "True" then
  message = "Important: " .. (important.message or "") .. ". " .. message
end
return {status = "Healthy", message = message}
