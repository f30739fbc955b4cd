-- A plan that waits for approval is Suspended. OLM sets no message then.
local status = obj.status or {}
if status.phase == "Complete" then
  return {status = "Healthy"}
elseif status.phase == "Failed" then
  return {status = "Degraded", message = status.message}
elseif status.phase == "RequiresApproval" then
  if status.message ~= nil and status.message ~= "" then
    return {status = "Suspended", message = status.message}
  end
  return {status = "Suspended", message = "It is waiting for a user to approve it"}
end
return {status = "Progressing", message = status.message}
