-- Available and not Degraded is Healthy, as for the Cluster Version Operator, also while an update progresses or is held.
local conditions = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do
  conditions[c.type] = c
end
local available, degraded, upgradeable = conditions.Available or {}, conditions.Degraded or {}, conditions.Upgradeable or {}
if degraded.status == "True" then
  return {status = "Degraded", message = degraded.message}
elseif available.status ~= "True" then
  return {status = "Progressing", message = available.message or "It has not been reported yet"}
elseif upgradeable.status == "False" then
  return {status = "Healthy", message = "Updates of the cluster are held: " .. (upgradeable.message or "")}
end
return {status = "Healthy", message = available.message}
