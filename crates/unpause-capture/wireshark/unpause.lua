-- Congestion notification for Wireshark and tshark: QCN's CN-TAG and congestion notification message
-- (IEEE 802.1Q, clause 33), and the receive rate that PCN puts into RoCEv2's CNP (NSDI 2020, section 4.2).
--
--     tshark -X lua_script:unpause.lua -r run.pcapng
--
-- or put this file into the folder of personal Lua plugins (Help, About, Folders).

local cntag = Proto("cntag", "802.1Qau CN-TAG")
local tag_flow = ProtoField.uint16("cntag.flow", "Flow", base.DEC)
local tag_type = ProtoField.uint16("cntag.type", "Type", base.HEX)
cntag.fields = { tag_flow, tag_type }

local cnm = Proto("cnm", "802.1Qau congestion notification message")
local version = ProtoField.uint8("cnm.version", "Version", base.DEC, nil, 0xf0)
local feedback = ProtoField.uint8("cnm.feedback", "Quantized feedback", base.DEC, nil, 0x3f)
local cpid = ProtoField.uint64("cnm.cpid", "Congestion point", base.HEX)
local offset = ProtoField.int32("cnm.offset", "Queue offset (B)", base.DEC)
local delta = ProtoField.int32("cnm.delta", "Queue delta (B)", base.DEC)
local priority = ProtoField.uint16("cnm.priority", "Priority", base.DEC, nil, 0xe000)
local destination = ProtoField.ether("cnm.dst", "Destination of the sampled frame")
local length = ProtoField.uint16("cnm.len", "Bytes of the sampled frame", base.DEC)
local sampled = ProtoField.bytes("cnm.msdu", "Sampled frame")
cnm.fields = { version, feedback, cpid, offset, delta, priority, destination, length, sampled }
local too_short = ProtoExpert.new("cnm.short", "Message is too short", expert.group.MALFORMED,
  expert.severity.ERROR)
cnm.experts = { too_short }

local ether_types = DissectorTable.get("ethertype")

function cntag.dissector(buffer, pinfo, tree)
  if buffer:len() < 4 then return 0 end
  local branch = tree:add(cntag, buffer(0, 4))
  branch:add(tag_flow, buffer(0, 2))
  branch:add(tag_type, buffer(2, 2))
  branch:append_text(", flow " .. buffer(0, 2):uint())
  local inner = ether_types:get_dissector(buffer(2, 2):uint())
  if inner then
    inner:call(buffer(4):tvb(), pinfo, tree)
  end
  return buffer:len()
end

function cnm.dissector(buffer, pinfo, tree)
  local fixed = 24
  pinfo.cols.protocol = "CNM"
  local branch = tree:add(cnm, buffer(0, math.min(buffer:len(), fixed)))
  if buffer:len() < fixed then
    branch:add_proto_expert_info(too_short)
    return buffer:len()
  end
  branch:add(version, buffer(0, 1))
  branch:add(feedback, buffer(1, 1))
  branch:add(cpid, buffer(2, 8))
  -- Both are counted in units of 64 octets.
  branch:add(offset, buffer(10, 2), buffer(10, 2):int() * 64)
  branch:add(delta, buffer(12, 2), buffer(12, 2):int() * 64)
  branch:add(priority, buffer(14, 2))
  branch:add(destination, buffer(16, 6))
  branch:add(length, buffer(22, 2))
  local bytes = math.min(buffer(22, 2):uint(), buffer:len() - fixed)
  if bytes > 0 then
    branch:add(sampled, buffer(fixed, bytes))
  end
  pinfo.cols.info = string.format("Congestion notification, feedback %d, queue %+d B, growth %+d B",
    buffer(1, 1):bitfield(2, 6), -buffer(10, 2):int() * 64, buffer(12, 2):int() * 64)
  return buffer:len()
end

ether_types:add(0x22e9, cntag)
ether_types:add(0x22e7, cnm)

-- Wireshark knows RoCEv2's CNP and shows its 16 bytes as reserved.
local pcn = Proto("pcn", "Photonic congestion notification")
local decrease = ProtoField.bool("pcn.decrease", "Decrease")
local rec_rate = ProtoField.uint32("pcn.rec_rate", "Receive rate (units, 1 Mb/s by default)", base.DEC)
pcn.fields = { decrease, rec_rate }
local opcode = Field.new("infiniband.bth.opcode")
local ecn = Field.new("ip.dsfield.ecn")
local CNP, HEADERS, BTH = 0x81, 8, 12
local udp_length = Field.new("udp.length")

function pcn.dissector(buffer, pinfo, tree)
  local code, mark, udp = opcode(), ecn(), udp_length()
  if not (code and mark and udp) or code.value ~= CNP then return end
  -- udp.length stands at byte 4 of UDP's header.
  local payload = udp.offset - 4 + HEADERS + BTH
  if buffer:len() < payload + 4 then return end
  local rate = buffer(payload, 4)
  local reduces = mark.value == 3
  if not reduces and rate:uint() ~= 0 then return end
  local branch = tree:add(pcn, rate)
  branch:add(decrease, reduces)
  branch:add(rec_rate, rate)
  if reduces then
    pinfo.cols.info:append(string.format(" [PCN: decrease, received %d]", rate:uint()))
  end
end

register_postdissector(pcn)
