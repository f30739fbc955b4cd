-- An operator that runs is Healthy, with a message if its update is held: Suspended and Progressing would keep the next
-- sync wave from starting. Important conditions of its custom resources come first in the message.
local conditions = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do
  conditions[c.type] = c
end
local ready, progressing = conditions.Ready, conditions.Progressing or {}
if ready == nil then
  return {status = "Progressing", message = "It has not been reconciled yet"}
elseif ready.status == "True" then
  local message = progressing.reason == "UpdateHeld" and progressing.message or ready.message or ""
  local important = conditions.Important or {}
  if important.status == "True" then
    message = "Important: " .. (important.message or "") .. ". " .. message
  end
  return {status = "Healthy", message = message}
elseif ready.reason == "Failed" or ready.reason == "Degraded" then
  return {status = "Degraded", message = ready.message}
end
return {status = "Progressing", message = ready.message}
