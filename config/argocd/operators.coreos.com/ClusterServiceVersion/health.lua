-- Replacing and Deleting are phases of an operator that runs until the next version does.
local status = obj.status or {}
local well = {Succeeded = true, Replacing = true, Deleting = true}
if well[status.phase or ""] then
  return {status = "Healthy", message = status.message}
elseif status.phase == "Failed" then
  return {status = "Degraded", message = status.message}
elseif status.reason == "OperatorConditionNotUpgradeable" then
  return {status = "Suspended", message = status.message} -- the version that it replaces runs
end
return {status = "Progressing", message = status.message}
